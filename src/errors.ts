import { isObject } from './internal/record.js';
import {
  CODES,
  isErrorCode,
  type CodesOf,
  type ErrorCode,
  type ErrorDetails,
  type Retry,
} from './errors/codes.js';
import { BRAND, redactError } from './internal/redact-error.js';
import { redact } from './internal/redact.js';
import { UNSAFE } from './internal/unsafe-text.js';

export {
  errorCodes,
  type ErrorCode,
  type ErrorDetails,
  type OfferRefusal,
  type Retry,
} from './errors/codes.js';

/**
 * State of the caller's money when an error was thrown.
 *
 * - `untouched`: no token was paid or swapped, and none can be. A swap that landed and failed cost its
 *   network fee.
 * - `swapped`: a swap landed, and nothing was paid.
 * - `uncertain`: a transaction that we signed left this process and may still land.
 * - `spent`: the payment landed on chain.
 */
export type Funds = 'untouched' | 'swapped' | 'uncertain' | 'spent';

/** A swap or payment that landed, and did not fail. Amounts are decimal strings of base units. */
export interface Moved {
  readonly kind: 'swap' | 'payment';
  readonly signature: string;
  readonly inputMint?: string;
  readonly inAmount?: string;
  readonly outputMint?: string;
  readonly outAmount?: string;
}

export interface ErrorInit<C extends ErrorCode> {
  readonly details: ErrorDetails[C];
  readonly funds?: Funds;
  readonly moved?: readonly Moved[];
  readonly retry?: Retry;
  readonly cause?: unknown;
  /** Text from a seller or a service. Cleaned and capped; never part of `message`. */
  readonly untrusted?: Readonly<Record<string, string>>;
  /** The response that led to the error, with its body unread. */
  readonly response?: Response;
}

/**
 * Base of every error that this library throws on purpose. Guard with {@link isExactChangeError}.
 */
export class ExactChangeError<C extends ErrorCode = ErrorCode> extends Error {
  readonly code: C;
  readonly details: Readonly<ErrorDetails[C]>;
  readonly funds: Funds;
  readonly moved: readonly Moved[];
  readonly retry: Retry;
  readonly untrusted: Readonly<Record<string, string>> | undefined;
  declare readonly response?: Response;

  constructor(code: C, message: string, init: ErrorInit<C>) {
    super(message, 'cause' in init ? { cause: redactError(init.cause) } : undefined);
    // A newer copy of the package may use codes that this copy does not know.
    const [group, retry] = isErrorCode(code) ? CODES[code] : (['ExactChange', 'never'] as const);
    // Not `new.target.name`: minifiers rename classes.
    this.name = `${group}Error`;
    this.code = code;
    this.details = Object.freeze(init.details);
    this.funds = init.funds ?? 'untouched';
    this.moved = Object.freeze([...(init.moved ?? [])]);
    this.retry = init.retry ?? retry;
    this.untrusted = init.untrusted === undefined ? undefined : cleanUntrusted(init.untrusted);
    // Not enumerable, so that logs of the error do not show the seller's headers and body.
    if (init.response !== undefined)
      Object.defineProperty(this, 'response', { value: init.response, enumerable: false });
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** JSON-safe: no stack, no cause, no response. */
  toJSON(): Record<string, unknown> {
    const { name, code, message, funds, moved, retry, details, untrusted } = this;
    return {
      name,
      code,
      message,
      funds,
      moved,
      retry,
      details,
      ...(untrusted === undefined ? {} : { untrusted }),
    };
  }
}

/** The caller's own arguments are wrong. */
export class ConfigError<
  C extends CodesOf<'Config'> = CodesOf<'Config'>,
> extends ExactChangeError<C> {}
/** This library cannot read or cannot pay the terms that the seller sent. */
export class ProtocolError<
  C extends CodesOf<'Protocol'> = CodesOf<'Protocol'>,
> extends ExactChangeError<C> {}
/** The caller's own policy forbids the payment or the swap. */
export class PolicyError<
  C extends CodesOf<'Policy'> = CodesOf<'Policy'>,
> extends ExactChangeError<C> {}
/** The wallet or the payee lacks what the payment needs. */
export class FundsError<
  C extends CodesOf<'Funds'> = CodesOf<'Funds'>,
> extends ExactChangeError<C> {}
/** No offered swap is acceptable. */
export class QuoteError<
  C extends CodesOf<'Quote'> = CodesOf<'Quote'>,
> extends ExactChangeError<C> {}
/** A transaction of ours could not be built or signed, or did not land. */
export class TransactionError<
  C extends CodesOf<'Transaction'> = CodesOf<'Transaction'>,
> extends ExactChangeError<C> {}
/** A signed payment left this process, and the seller's answer to it is not a success. */
export class SettlementError<
  C extends CodesOf<'Settlement'> = CodesOf<'Settlement'>,
> extends ExactChangeError<C> {}
/** An RPC node, Jupiter, a service or a journal did not answer, or not properly. */
export class TransportError<
  C extends CodesOf<'Transport'> = CodesOf<'Transport'>,
> extends ExactChangeError<C> {}

/**
 * Returns whether a value is an error of this library, with the given code if there is one. Works
 * across copies of the package, module formats and realms.
 *
 * @example
 * try {
 *   await client.fetch('https://api.example.com/premium');
 * } catch (error) {
 *   if (isExactChangeError(error, 'insufficient_funds')) console.log(error.details.required);
 *   else throw error;
 * }
 */
export function isExactChangeError<C extends ErrorCode = ErrorCode>(
  value: unknown,
  code?: C,
): value is ExactChangeError<C> {
  try {
    if (!isObject(value) || !(BRAND in value) || !('code' in value)) return false;
    return code === undefined || value.code === code;
  } catch {
    // Not even a look at it is allowed: a revoked proxy, or an object of a frame that is gone.
    return false;
  }
}

const UNTRUSTED_LIMIT = 200;

/**
 * Makes text from a seller or a service safe to show: without our keys, without control, direction
 * or hidden characters, and with at most 200 characters.
 */
export function cleanText(text: string): string {
  const clean = redact(text)
    .slice(0, 4 * UNTRUSTED_LIMIT)
    .replace(UNSAFE, ' ')
    .trim()
    .slice(0, UNTRUSTED_LIMIT);
  // The cut may have halved a surrogate pair.
  return clean.replace(UNSAFE, '').trim();
}

function cleanUntrusted(
  untrusted: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.freeze(
    Object.fromEntries(Object.entries(untrusted).map(([key, text]) => [key, cleanText(text)])),
  );
}
