import { isExactChangeError, type ErrorCode, type ExactChangeError } from 'exact-change';
import { isRecord } from '../../src/internal/record.js';
import type { Exit } from './exits.js';
import { Interrupted } from './interrupt.js';
import { hideKeys } from './key-in-words.js';
import type { Report } from './report.js';
import { cleanLine } from './clean.js';

/** Hints for the person about an error, besides its own message. */
const NEXT: Partial<Record<ErrorCode, string>> = {
  amount_over_limit: 'For this call: --max <dollars>.',
  budget_exhausted: 'exact-change budget shows each cap.',
  insufficient_funds: 'exact-change balance shows what the wallet holds.',
  insufficient_sol: 'exact-change balance shows what the wallet holds.',
};

/** Codes of errors that `exact-change resume` would meet again, or that name the next step. */
const PAST_RESUME: readonly ErrorCode[] = ['swap_uncertain', 'journal_damaged', 'journal_locked'];

/**
 * Returns the report of a failed command. It repeats no word of the command line that may be a key.
 *
 * @param mayLand - Whether a transaction may still land, of which the error does not know.
 */
export function failureReport(error: unknown, mayLand = false): Report {
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
  const { code, message, untrusted = {} } = error;
  const funds = mayLand ? 'uncertain' : error.funds;
  const link = linkOf(error);
  const asksChain = funds === 'uncertain' && !PAST_RESUME.includes(code);
  const next = asksChain ? 'exact-change resume asks the chain.' : NEXT[code];
  return {
    ...{ exit, funds },
    json: { error: hideKeysIn({ ...error.toJSON(), funds }) },
    ...(link === undefined ? {} : { link }),
    notes: [
      message,
      ...referredTo(error),
      ...Object.entries(untrusted).map(([name, text]) => `The other side's ${name}: ${text}`),
      `Code ${code}, funds ${funds}.${next === undefined ? '' : ` ${next}`}`,
    ].map((note) => hideKeys(note)),
  };
}

/** Returns lines of what the text of an error names but leaves out: a person sees no `details`. */
function referredTo(error: ExactChangeError): string[] {
  const { details, moved } = error;
  const signatures = new Set(moved.map(({ signature }) => signature));
  if ('signature' in details) signatures.add(details.signature);
  return [
    ...('offers' in details ? details.offers : []).map(
      ({ index, message }) => `Offer ${index + 1}: ${message}`,
    ),
    ...('value' in details ? [`Refused: ${cleanLine(details.value)}`] : []),
    ...('origin' in details ? [`Asked by: ${cleanLine(details.origin)}`] : []),
    ...[...signatures].map((signature) => `Signature: ${signature}`),
  ];
}

/** Returns the report of a wrong command line. Commander has printed its error as text. */
export function usageReport({ message }: Error): Report {
  return { exit: 'usage', json: { error: { code: 'usage', message: hideKeys(message) } } };
}

/** Returns a `solana:` link that sends the missing tokens to the wallet. */
function linkOf({ details }: ExactChangeError): string | undefined {
  return 'link' in details ? details.link : undefined;
}

/** Returns the cleaned message of an error and its cause. `fetch` has the reason in the cause. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return 'The command failed.';
  const { cause } = error;
  const text = cause instanceof Error ? `${error.message}: ${cause.message}` : error.message;
  return cleanLine(hideKeys(text));
}

function hideKeysIn(value: object): unknown {
  const hide = (_: string, part: unknown) => (typeof part === 'string' ? hideKeys(part) : part);
  return JSON.parse(JSON.stringify(value, hide));
}

/** Exits for errors of this library that leave the funds untouched, by class. */
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

/** Returns the exit of an error. If money moved, that decides; else the failed step does. */
export function exitOf(error: unknown): Exit {
  if (isExactChangeError(error)) return exitOfLibraryError(error);
  const code = causeCode(error) ?? '';
  if (/^(?:ENOTFOUND|EAI_AGAIN)$/.test(code)) return 'noHost';
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return 'timeout';
  if (/^(?:E(?:CONN|HOST|NET|PIPE)|UND_ERR_SOCKET)/.test(code)) return 'noConnection';
  if (/CERT|TLS|SSL|ISSUER|SIGNATURE/.test(code)) return 'tls';
  return 'failed';
}

function exitOfLibraryError({ name, code, funds }: ExactChangeError): Exit {
  if (funds !== 'untouched') return funds;
  return OF_CODE[code] ?? OF_CLASS[name] ?? 'failed';
}

/** Returns Node's code of a failed connection, which `fetch` hides in a cause. */
function causeCode(error: unknown): string | undefined {
  for (let cause = error; isRecord(cause); cause = cause['cause'])
    if (typeof cause['code'] === 'string') return cause['code'];
  return undefined;
}
