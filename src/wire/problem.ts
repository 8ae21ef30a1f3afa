import * as v from 'valibot';
import {
  cleanText,
  isExactChangeError,
  TransportError,
  type ErrorCode,
  type ExactChangeError,
  type Funds,
  type Moved,
  type Retry,
} from '../errors.js';
import { isErrorCode } from '../errors/codes.js';
import { errorOfCode } from '../errors/of-code.js';
import type { Signed } from '../transport.js';
import { detailsSchemas, wordsIn } from './details.js';
import { digits, text } from './fields.js';
import { untrusted as untrustedSchema } from './payment.js';
import {
  aboutProblem,
  isServiceCode,
  type ProblemCode,
  type ServiceCode,
} from './problem-codes.js';
import { isTrustedError } from './trusted-error.js';

/** A problem of RFC 9457 with the fields of an {@link ExactChangeError}. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly funds: Funds;
  readonly retry: Retry;
  readonly moved: readonly Moved[];
  readonly details: object;
  readonly untrusted?: Readonly<Record<string, string>>;
}

export const PROBLEM_TYPE = 'application/problem+json';

const FUNDS = ['untouched', 'swapped', 'uncertain', 'spent'] as const;
const RETRIES = ['never', 'same', 'fresh'] as const;

const moved = v.object({
  kind: v.picklist(['swap', 'payment']),
  signature: text,
  inputMint: v.exactOptional(text),
  inAmount: v.exactOptional(digits),
  outputMint: v.exactOptional(text),
  outAmount: v.exactOptional(digits),
});

/** A problem as a service sends it. Its `details` are checked by code in {@link errorOf}. */
export const problem: v.GenericSchema<unknown, Problem> = v.object(
  {
    type: v.pipe(v.string(), v.maxLength(200)),
    title: text,
    status: v.pipe(v.number(), v.integer(), v.minValue(400), v.maxValue(599)),
    detail: v.pipe(v.string(), v.maxLength(4_096)),
    code: v.pipe(v.string(), v.regex(/^[a-z]+(?:_[a-z]+)*$/), v.maxLength(64)),
    funds: v.picklist(FUNDS),
    retry: v.picklist(RETRIES),
    moved: v.pipe(v.array(moved), v.maxLength(16)),
    details: v.looseObject({}),
    untrusted: v.exactOptional(untrustedSchema),
  },
  'must be a problem.',
);

/**
 * Returns the problem that a service sends for an error. An error of another class becomes
 * `internal_error` without its text, which is not meant for outsiders.
 *
 * The problem names no host of a node and no path of a journal. It has no words of a node, a disk or
 * Jupiter, because they may quote a key of the service. It keeps a seller's words, because the caller
 * brought them.
 *
 * @param mayHaveSent - Whether the operation may have sent a swap before it failed.
 */
export function problemOf(error: unknown, mayHaveSent = false): Problem {
  if (!isExactChangeError(error) || isOfJournalOption(error))
    return {
      ...serviceProblem(
        'internal_error',
        'The service failed. Try again, and name the request id to its operator.',
      ),
      ...(mayHaveSent ? { funds: 'uncertain', retry: 'same' } : {}),
    };
  const { code, message, funds, details, untrusted } = error;
  // Another service takes the place of one that closes.
  const retry = code === 'client_closed' && error.retry === 'never' ? 'fresh' : error.retry;
  return {
    ...headOf(code),
    detail: code.startsWith('journal_') ? NO_JOURNAL : message.replace(OUR_NODE, '$1'),
    ...{ code, funds, retry, moved: error.moved },
    details: 'path' in details ? { ...details, path: NO_PATH } : details,
    ...(untrusted === undefined || !OF_SELLERS.includes(error.name) ? {} : { untrusted }),
  };
}

/** Whether only the operator can do something: a journal's files or tables are of a newer version. */
function isOfJournalOption(error: ExactChangeError): boolean {
  return (
    isExactChangeError(error, 'invalid_option') &&
    ['journal', 'schema'].includes(error.details.option)
  );
}

const NO_PATH = 'known to the operator';
const NO_JOURNAL =
  'The journal of this service cannot be used. Try again later, or tell the operator of the service.';

/** The host as `solana/rpc/transport-error.ts` writes it. */
const OUR_NODE = /(RPC node) \(.*?\)/g;

const OF_SELLERS: readonly string[] = ['ProtocolError', 'SettlementError'];

/** Creates a problem with the request itself; `detail` says what the caller can do. */
export function serviceProblem(
  code: ServiceCode,
  detail: string,
  details: Readonly<Record<string, string | number>> = {},
): Problem {
  return {
    ...headOf(code),
    detail,
    code,
    funds: 'untouched',
    retry: RETRY[code] ?? 'never',
    moved: [],
    details,
  };
}

const RETRY: { readonly [C in ServiceCode]?: Retry } = {
  request_timeout: 'fresh',
  cancelled: 'fresh',
  internal_error: 'fresh',
};

function headOf(code: ProblemCode): Pick<Problem, 'type' | 'title' | 'status'> {
  return {
    type: `urn:exact-change:${code}`,
    ...aboutProblem(isServiceCode(code) || isErrorCode(code) ? code : 'internal_error'),
  };
}

/**
 * Returns the error for a problem of a service: of the same class, with the same `code`, `details`
 * and `retry`. The message is ours; the service's own words are cleaned, and under `untrusted`.
 *
 * The service's claim about the funds counts only if it is `untouched`. `sent` is what this call
 * gave it signed. After a swap, `swapped` and the swap's end count too; each other error leaves the
 * funds `uncertain`, because what was signed may still land. A problem that claims more, or that
 * cannot be read, becomes `invalid_response`.
 */
export function errorOf(
  value: unknown,
  { sent }: { readonly sent?: Signed | undefined } = {},
): ExactChangeError {
  const read = v.safeParse(problem, value);
  if (!read.success) return unusable('its error is no problem JSON of this interface', sent);
  const received = read.output;
  const words = { detail: cleanText(received.detail) };
  if (isServiceCode(received.code)) return refused(received.code, received.retry, sent, words);
  const { code } = received;
  if (!isErrorCode(code))
    return unusable('its error has a code that this version does not know', sent, {
      code,
      ...words,
    });
  if (!isTrustedError(code, received, sent))
    return unusable('its error claims what only this side can know', sent, { code, ...words });
  const details = v.safeParse(detailsSchemas[code], received.details);
  if (!details.success)
    return unusable('the numbers of its error do not fit its code', sent, { code, ...words });
  return errorOfCode(
    code,
    `${aboutProblem(code).title}, says the service. Its own words are in untrusted.detail.`,
    {
      details: details.output,
      ...verdict(received, code, sent),
      untrusted: { ...received.untrusted, ...wordsIn(received.details), ...words },
    },
  );
}

// Codes by which a service reports the end of a signed swap. The caller can look up its signature.
const OF_THE_CHAIN: readonly string[] = ['swap_failed', 'swap_expired'];

/**
 * Returns the claims of a problem that count. A service cannot prove that a signed transaction came
 * to nothing. The caller may send the same bytes again, but must not sign another transaction.
 * `never` counts if the service too calls the funds uncertain: then a person looks at the chain.
 */
function verdict(
  { funds, moved: landed, retry }: Problem,
  code: ErrorCode,
  sent: Signed | undefined,
): Pick<Problem, 'funds' | 'moved' | 'retry'> {
  const isKnown =
    sent === undefined ||
    OF_THE_CHAIN.includes(code) ||
    (sent === 'swap' && funds === 'swapped') ||
    (funds === 'uncertain' && retry === 'never');
  return isKnown
    ? { funds, moved: landed, retry }
    : { funds: 'uncertain', moved: landed, retry: 'same' };
}

/**
 * Creates the error for an unusable answer of a service. With `sent`, the service had a signed
 * transaction, so that its fate is not known.
 */
export function unusable(
  reason: string,
  sent?: Signed,
  untrusted?: Readonly<Record<string, string>>,
): TransportError<'invalid_response'> {
  return new TransportError(
    'invalid_response',
    `The service's answer cannot be used: ${reason}. Try again, or use another.`,
    {
      details: { service: 'service', reason },
      ...(sent === undefined ? {} : { funds: 'uncertain', retry: 'same' }),
      ...(untrusted === undefined ? {} : { untrusted }),
    },
  );
}

/**
 * Creates the error for a refusal of a request. With `sent`, an equal request before may have got
 * through.
 */
function refused(
  code: ServiceCode,
  retry: Retry,
  sent: Signed | undefined,
  untrusted: Readonly<Record<string, string>>,
): TransportError<'invalid_response'> {
  const { title } = aboutProblem(code);
  return new TransportError(
    'invalid_response',
    `The service refused the request: ${title}. Its own words are in untrusted.detail.`,
    {
      details: { service: 'service', reason: code },
      ...(sent === undefined ? { retry } : { funds: 'uncertain', retry: 'same' }),
      untrusted,
    },
  );
}
