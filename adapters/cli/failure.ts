import { isExactChangeError, type ErrorCode, type ExactChangeError } from 'exact-change';
import { isRecord } from '../../src/internal/record.js';
import type { Exit } from './exits.js';
import { Interrupted } from './interrupt.js';
import type { Report } from './report.js';
import { cleanLine } from './clean.js';

/** What the command line can do about an error, besides what the error says. */
const NEXT: Partial<Record<ErrorCode, string>> = {
  amount_over_limit: 'For this call: --max <dollars>.',
  budget_exhausted: 'exact-change budget shows each cap.',
  insufficient_funds: 'exact-change balance shows what the wallet holds.',
  insufficient_sol: 'exact-change balance shows what the wallet holds.',
};

/** What a command that failed has to say. */
export function failureReport(error: unknown): Report {
  if (error instanceof Interrupted)
    return {
      exit: 'interrupted',
      json: { error: { code: 'interrupted', message: error.message } },
      notes: [error.message],
    };
  const exit = exitOf(error);
  if (!isExactChangeError(error)) {
    const message = messageOf(error);
    return { exit, json: { error: { code: 'failed', message } }, notes: [message] };
  }
  const { code, funds, message, untrusted = {} } = error;
  const link = linkOf(error);
  const next = funds === 'uncertain' ? 'exact-change resume asks the chain.' : NEXT[code];
  return {
    ...{ exit, funds },
    json: { error: error.toJSON() },
    ...(link === undefined ? {} : { link }),
    notes: [
      message,
      ...Object.entries(untrusted).map(([name, text]) => `The other side's ${name}: ${text}`),
      `Code ${code}, funds ${funds}.${next === undefined ? '' : ` ${next}`}`,
    ],
  };
}

/** A `solana:` link to send the wallet what is missing. */
function linkOf({ details }: ExactChangeError): string | undefined {
  return 'link' in details ? details.link : undefined;
}

/** Of fetch the reason is in the cause. Both may quote a server. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return 'The command failed.';
  const { cause } = error;
  return cleanLine(cause instanceof Error ? `${error.message}: ${cause.message}` : error.message);
}

/** Of the errors that leave the money as it was. */
const OF_CLASS: Readonly<Record<string, Exit>> = {
  ConfigError: 'usage',
  ProtocolError: 'short',
  PolicyError: 'refused',
  FundsError: 'short',
  QuoteError: 'short',
  TransportError: 'noConnection',
};

const OF_CODE: Partial<Record<ErrorCode, Exit>> = {
  timeout: 'timeout',
  journal_damaged: 'failed',
  journal_locked: 'failed',
  journal_unavailable: 'failed',
  missing_dependency: 'failed',
  invalid_response: 'failed',
  rpc_wrong_network: 'usage',
};

/** What failed, by what happened to the money first. */
export function exitOf(error: unknown): Exit {
  if (isExactChangeError(error)) return exitOfOurs(error);
  const code = causeCode(error) ?? '';
  if (/^(?:ENOTFOUND|EAI_AGAIN)$/.test(code)) return 'noHost';
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return 'timeout';
  if (/^(?:E(?:CONN|HOST|NET|PIPE)|UND_ERR_SOCKET)/.test(code)) return 'noConnection';
  if (/CERT|TLS|SSL|ISSUER|SIGNATURE/.test(code)) return 'tls';
  return 'failed';
}

function exitOfOurs({ name, code, funds }: ExactChangeError): Exit {
  if (funds !== 'untouched') return funds;
  return OF_CODE[code] ?? OF_CLASS[name] ?? 'failed';
}

/** What Node calls the failure of a connection, which fetch hides in a cause. */
function causeCode(error: unknown): string | undefined {
  for (let one = error; isRecord(one); one = one['cause'])
    if (typeof one['code'] === 'string') return one['code'];
  return undefined;
}
