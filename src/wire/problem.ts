import * as v from 'valibot';
import {
  cleanText,
  errorCodes,
  isExactChangeError,
  TransportError,
  type ErrorCode,
  type ExactChangeError,
  type Funds,
  type Moved,
  type Retry,
} from '../errors.js';
import { errorOfCode } from '../errors/of-code.js';
import { detailsSchemas, wordsIn } from './details.js';
import { digits, text } from './fields.js';
import { untrusted as untrustedSchema } from './payment.js';
import { aboutProblem, isServiceCode, type ProblemCode, type ServiceCode } from './problems.js';
import { isTrustedError } from './trusted-error.js';

/** RFC 9457, with what an {@link ExactChangeError} says besides. */
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

/**
 * A problem as a service sends it. Its `details` are judged by code, when it becomes an error
 * again.
 */
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
 * What a service answers for an error. One that is not ours says nothing of itself: its text was
 * not written for strangers. Nor is the host of a node passed on, nor the words of a node or of
 * Jupiter, which may quote a key of the service's; those of a seller are, which the caller brought.
 */
export function problemOf(error: unknown): Problem {
  if (!isExactChangeError(error))
    return serviceProblem(
      'internal_error',
      'The service failed. Try again, and name the request id to its operator.',
    );
  const { code, message, funds, retry, details, untrusted } = error;
  return {
    ...headOf(code),
    detail: message.replace(OUR_NODE, '$1'),
    ...{ code, funds, retry, moved: error.moved, details },
    ...(untrusted === undefined || !OF_SELLERS.includes(error.name) ? {} : { untrusted }),
  };
}

/** As `solana/rpc/fault.ts` names it. */
const OUR_NODE = /(RPC node) \(.*?\)/g;

const OF_SELLERS: readonly string[] = ['ProtocolError', 'SettlementError'];

/** A problem with the request itself; `detail` says what to do next. */
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

function isErrorCode(code: string): code is ErrorCode {
  return errorCodes.some((one) => one === code);
}

/**
 * The error that a service's problem stands for: of the same class, with the same `code`,
 * `details`, `retry`. What the service says in words is cleaned, and under `untrusted`; the message
 * is ours. Of the money it is believed nothing but `untouched`, unless `sent` says that this call
 * handed it something signed: then also `swapped` and `uncertain`. A problem that claims more, or
 * is none, becomes `invalid_response`, and says nothing of what was handed over: that may still
 * land.
 */
export function errorOf(
  value: unknown,
  { sent = false }: { readonly sent?: boolean } = {},
): ExactChangeError {
  const read = v.safeParse(problem, value);
  if (!read.success) return unusable('its error is no problem JSON of this interface', sent);
  const said = read.output;
  const words = { detail: cleanText(said.detail) };
  if (isServiceCode(said.code)) return refused(said.code, said.retry, sent, words);
  const { code } = said;
  if (!isErrorCode(code))
    return unusable('its error has a code that this version does not know', sent, {
      code,
      ...words,
    });
  if (!isTrustedError(code, said, sent))
    return unusable('its error claims what only this side can know', sent, { code, ...words });
  const details = v.safeParse(detailsSchemas[code], said.details);
  if (!details.success)
    return unusable('the numbers of its error do not fit its code', sent, { code, ...words });
  return errorOfCode(
    code,
    `${aboutProblem(code).title}, says the service. Its own words are in untrusted.detail.`,
    {
      details: details.output,
      ...verdict(said, code, sent),
      untrusted: { ...said.untrusted, ...wordsIn(said.details), ...words },
    },
  );
}

// What the chain says of a signed swap, if the service is honest; its signature is there to look
// up.
const OF_THE_CHAIN: readonly string[] = ['swap_failed', 'swap_expired'];

/**
 * Of something signed no service is believed that it came to nothing: sent again it is the same,
 * and another signed beside it is not.
 */
function verdict(
  { funds, moved: landed, retry }: Problem,
  code: ErrorCode,
  sent: boolean,
): Pick<Problem, 'funds' | 'moved' | 'retry'> {
  const isOpen = sent && funds === 'untouched' && !OF_THE_CHAIN.includes(code);
  return isOpen
    ? { funds: 'uncertain', moved: landed, retry: 'same' }
    : { funds, moved: landed, retry };
}

/**
 * An answer of a service that nothing can be made of. After something signed was handed over,
 * `sent`, what became of it is not known.
 */
export function unusable(
  reason: string,
  sent: boolean,
  untrusted?: Readonly<Record<string, string>>,
): TransportError<'invalid_response'> {
  return new TransportError(
    'invalid_response',
    `The service's answer cannot be used: ${reason}. Try again, or use another.`,
    {
      details: { service: 'service', reason },
      ...(sent ? { funds: 'uncertain', retry: 'same' } : {}),
      ...(untrusted === undefined ? {} : { untrusted }),
    },
  );
}

// The others are said before any of the request becomes a call.
const AFTER_THE_CALL: readonly ServiceCode[] = ['internal_error', 'cancelled'];

function refused(
  code: ServiceCode,
  retry: Retry,
  sent: boolean,
  untrusted: Readonly<Record<string, string>>,
): TransportError<'invalid_response'> {
  const { title } = aboutProblem(code);
  return new TransportError(
    'invalid_response',
    `The service refused the request: ${title}. Its own words are in untrusted.detail.`,
    {
      details: { service: 'service', reason: code },
      ...(sent && AFTER_THE_CALL.includes(code)
        ? { funds: 'uncertain', retry: 'same' }
        : { retry }),
      untrusted,
    },
  );
}
