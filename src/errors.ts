import { redact, redactError } from './redact.js';

/**
 * What may have happened to the caller's money when an error was thrown.
 *
 * - `untouched`: nothing of ours landed or can still land.
 * - `swapped`: tokens changed from one kind to another, nothing was paid.
 * - `uncertain`: something that we signed left this process and may still land.
 * - `spent`: the payment landed on chain.
 */
export type Funds = 'untouched' | 'swapped' | 'uncertain' | 'spent';

/**
 * What repeating the call can do: `never` helps nothing without a change, `same` presents the same signed bytes
 * again, `fresh` starts over.
 */
export type Retry = 'never' | 'same' | 'fresh';

/** A transaction of ours that landed. Amounts are decimal strings of base units. */
export interface Moved {
  readonly kind: 'swap' | 'payment';
  readonly signature: string;
  readonly inputMint?: string;
  readonly inAmount?: string;
  readonly outputMint?: string;
  readonly outAmount?: string;
}

/** Why one entry of `accepts` was not paid. `untrusted` holds the seller's own strings, capped and cleaned. */
export interface OfferRefusal {
  readonly index: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly untrusted?: Readonly<Record<string, string>>;
}

type None = Readonly<Record<string, never>>;

/** The numbers that come with each code. All JSON-safe; amounts are decimal strings of base units. */
export interface ErrorDetails {
  // ConfigError: the caller's own arguments
  invalid_option: { readonly option: string };
  invalid_key: { readonly reason: string };
  missing_dependency: { readonly packages: readonly string[] };
  client_closed: None;
  idempotency_mismatch: None;
  // ProtocolError: what the seller sent
  malformed_payment_required: { readonly reason: string };
  unsupported_offer: { readonly reason: string };
  unsupported_network: { readonly network: string };
  no_payable_offer: { readonly offers: readonly OfferRefusal[] };
  insecure_origin: { readonly origin: string };
  body_not_replayable: { readonly limitBytes: number };
  header_too_large: { readonly bytes: number; readonly limitBytes: number };
  // PolicyError: the caller's own rules
  amount_over_limit: { readonly cap: string; readonly limit: string; readonly amount: string; readonly unit: string };
  budget_exhausted: { readonly cap: string; readonly limit: string; readonly used: string; readonly amount: string; readonly unit: string };
  price_unknown: { readonly mint: string };
  /** `list`: the rule that refuses, such as `deny.hosts`; `value`: what it refuses. */
  not_allowed: { readonly list: string; readonly value: string };
  /** `refused`: the hook said no, failed, or did not answer in time. `changed`: what would be signed is no longer what was approved. */
  approval_refused: { readonly reason: 'refused' | 'changed' };
  fees_over_limit: { readonly lamports: string; readonly limitLamports: string };
  // FundsError: the wallet or the payee cannot take part
  insufficient_funds: { readonly mint: string; readonly required: string; readonly available: string };
  insufficient_sol: { readonly requiredLamports: string; readonly availableLamports: string };
  payee_account_missing: { readonly payTo: string; readonly mint: string; readonly tokenAccount: string };
  account_unusable: { readonly account: string; readonly reason: string };
  unknown_mint: { readonly mint: string };
  mint_not_supported: { readonly mint: string; readonly reason: string };
  // QuoteError: no acceptable swap
  no_route: { readonly inputMint: string; readonly outputMint: string };
  price_impact_too_high: { readonly priceImpactBps: number; readonly limitBps: number };
  swap_overhead_too_high: { readonly lossBps: number; readonly limitBps: number };
  quote_mismatch: { readonly reason: string };
  unsafe_swap: { readonly rule: string };
  // TransactionError: a transaction of ours
  transaction_too_large: { readonly bytes: number };
  simulation_failed: { readonly reason: string };
  self_check_failed: { readonly reason: string };
  signing_failed: { readonly address: string };
  /** `feeLamports`: what all tries of this swap that landed cost. Fees are no tokens: `funds` is `untouched`. */
  swap_failed: { readonly signature: string; readonly reason: string; readonly feeLamports: string };
  swap_expired: { readonly signature: string };
  swap_uncertain: { readonly signature: string; readonly lastValidBlockHeight: string };
  // SettlementError: after a signed payment left
  payment_rejected: { readonly payerSignature: string; readonly lastValidBlockHeight: string; readonly status: number };
  payment_uncertain: { readonly payerSignature: string; readonly lastValidBlockHeight: string };
  /** Without a signature while the other call has not signed yet. */
  payment_in_progress: { readonly payerSignature?: string };
  already_spent: { readonly payerSignature: string; readonly signature?: string };
  // TransportError: somebody did not answer properly
  journal_unavailable: { readonly step: string };
  /** Another process, `pid`, has the journal at `path`. */
  journal_locked: { readonly path: string; readonly pid: number };
  /** `offset`: bytes from the start of the file. */
  journal_damaged: { readonly path: string; readonly offset: number };
  rpc_unavailable: { readonly method: string };
  rpc_wrong_network: { readonly expected: string; readonly actual: string };
  jupiter_unavailable: { readonly status: number };
  /** `status`: the last answer's; 0 where there was none. */
  service_unavailable: { readonly status: number };
  rate_limited: { readonly retryAfterMs: number };
  timeout: { readonly step: string; readonly timeoutMs: number };
  invalid_response: { readonly service: string; readonly reason: string };
}

/** Stable, lower snake case, never reused. */
export type ErrorCode = keyof ErrorDetails;

type Group = 'Config' | 'Protocol' | 'Policy' | 'Funds' | 'Quote' | 'Transaction' | 'Settlement' | 'Transport';

/** Every code, the class that carries it, and what repeating the call can do unless the thrower knows better. */
const CODES = {
  invalid_option: ['Config', 'never'],
  invalid_key: ['Config', 'never'],
  missing_dependency: ['Config', 'never'],
  client_closed: ['Config', 'never'],
  idempotency_mismatch: ['Config', 'never'],
  malformed_payment_required: ['Protocol', 'never'],
  unsupported_offer: ['Protocol', 'never'],
  unsupported_network: ['Protocol', 'never'],
  no_payable_offer: ['Protocol', 'never'],
  insecure_origin: ['Protocol', 'never'],
  body_not_replayable: ['Protocol', 'never'],
  header_too_large: ['Protocol', 'never'],
  amount_over_limit: ['Policy', 'never'],
  budget_exhausted: ['Policy', 'fresh'],
  price_unknown: ['Policy', 'never'],
  not_allowed: ['Policy', 'never'],
  approval_refused: ['Policy', 'never'],
  fees_over_limit: ['Policy', 'fresh'],
  insufficient_funds: ['Funds', 'never'],
  insufficient_sol: ['Funds', 'never'],
  payee_account_missing: ['Funds', 'never'],
  account_unusable: ['Funds', 'never'],
  unknown_mint: ['Funds', 'never'],
  mint_not_supported: ['Funds', 'never'],
  no_route: ['Quote', 'never'],
  price_impact_too_high: ['Quote', 'fresh'],
  swap_overhead_too_high: ['Quote', 'fresh'],
  quote_mismatch: ['Quote', 'fresh'],
  unsafe_swap: ['Quote', 'never'],
  transaction_too_large: ['Transaction', 'fresh'],
  simulation_failed: ['Transaction', 'fresh'],
  self_check_failed: ['Transaction', 'never'],
  signing_failed: ['Transaction', 'never'],
  swap_failed: ['Transaction', 'fresh'],
  swap_expired: ['Transaction', 'fresh'],
  swap_uncertain: ['Transaction', 'never'],
  payment_rejected: ['Settlement', 'same'],
  payment_uncertain: ['Settlement', 'same'],
  payment_in_progress: ['Settlement', 'same'],
  already_spent: ['Settlement', 'never'],
  journal_unavailable: ['Transport', 'fresh'],
  journal_locked: ['Transport', 'never'],
  journal_damaged: ['Transport', 'never'],
  rpc_unavailable: ['Transport', 'fresh'],
  rpc_wrong_network: ['Transport', 'never'],
  jupiter_unavailable: ['Transport', 'fresh'],
  service_unavailable: ['Transport', 'fresh'],
  rate_limited: ['Transport', 'fresh'],
  timeout: ['Transport', 'fresh'],
  invalid_response: ['Transport', 'fresh'],
} as const satisfies { [C in ErrorCode]: readonly [Group, Retry] };

type CodesOf<G extends Group> = { [C in ErrorCode]: (typeof CODES)[C][0] extends G ? C : never }[ErrorCode];

/** All codes, for tables and tests. */
export const errorCodes: readonly ErrorCode[] = Object.freeze(Object.keys(CODES).filter(isErrorCode));

export interface ErrorInit<C extends ErrorCode> {
  readonly details: ErrorDetails[C];
  readonly funds?: Funds;
  readonly moved?: readonly Moved[];
  readonly retry?: Retry;
  readonly cause?: unknown;
  /** Text from a seller or a service. Cleaned and capped; never part of `message`. */
  readonly untrusted?: Readonly<Record<string, string>>;
  /** The response that led to the error, its body unread, where there is one. */
  readonly response?: Response;
}

const BRAND: unique symbol = Symbol.for('exact-change.error');

/** Base of every error that this library throws on purpose. Guard with {@link isExactChangeError}. */
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
    // A newer copy of the package has codes that this one does not know.
    const [group, retry] = isErrorCode(code) ? CODES[code] : (['ExactChange', 'never'] as const);
    // Not `new.target.name`: minifiers rename classes.
    this.name = `${group}Error`;
    this.code = code;
    this.details = Object.freeze(init.details);
    this.funds = init.funds ?? 'untouched';
    this.moved = Object.freeze([...(init.moved ?? [])]);
    this.retry = init.retry ?? retry;
    this.untrusted = init.untrusted === undefined ? undefined : cleanUntrusted(init.untrusted);
    // A Response carries headers and bodies of the seller: reachable, but never serialised or inspected.
    if (init.response !== undefined) Object.defineProperty(this, 'response', { value: init.response, enumerable: false });
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** JSON-safe: no stack, no cause, no response. */
  toJSON(): Record<string, unknown> {
    const { name, code, message, funds, moved, retry, details, untrusted } = this;
    return { name, code, message, funds, moved, retry, details, ...(untrusted === undefined ? {} : { untrusted }) };
  }
}

/** The caller's own arguments are wrong. */
export class ConfigError<C extends CodesOf<'Config'> = CodesOf<'Config'>> extends ExactChangeError<C> {}
/** What the seller sent cannot be read, or cannot be paid by this library. */
export class ProtocolError<C extends CodesOf<'Protocol'> = CodesOf<'Protocol'>> extends ExactChangeError<C> {}
/** The caller's own rules forbid it. */
export class PolicyError<C extends CodesOf<'Policy'> = CodesOf<'Policy'>> extends ExactChangeError<C> {}
/** The wallet or the payee lacks what the payment needs. */
export class FundsError<C extends CodesOf<'Funds'> = CodesOf<'Funds'>> extends ExactChangeError<C> {}
/** No swap that is good enough. */
export class QuoteError<C extends CodesOf<'Quote'> = CodesOf<'Quote'>> extends ExactChangeError<C> {}
/** A transaction of ours could not be made, or did not land. */
export class TransactionError<C extends CodesOf<'Transaction'> = CodesOf<'Transaction'>> extends ExactChangeError<C> {}
/** A signed payment left this process and its answer is not a success. */
export class SettlementError<C extends CodesOf<'Settlement'> = CodesOf<'Settlement'>> extends ExactChangeError<C> {}
/** An RPC node, Jupiter or a service did not answer, or not properly. */
export class TransportError<C extends CodesOf<'Transport'> = CodesOf<'Transport'>> extends ExactChangeError<C> {}

const CLASSES: { readonly [G in Group]: { readonly prototype: ExactChangeError } } = {
  Config: ConfigError,
  Protocol: ProtocolError,
  Policy: PolicyError,
  Funds: FundsError,
  Quote: QuoteError,
  Transaction: TransactionError,
  Settlement: SettlementError,
  Transport: TransportError,
};

/** An error of the class that carries its code, for codes that are only known when the program runs. */
export function errorOfCode<C extends ErrorCode>(code: C, message: string, init: ErrorInit<C>): ExactChangeError<C> {
  const error = new ExactChangeError(code, message, init);
  Object.setPrototypeOf(error, CLASSES[CODES[code][0]].prototype);
  return error;
}

/**
 * Tells errors of this library from others, across copies of the package, module formats and realms.
 *
 * @example
 * try {
 *   await client.fetch('https://api.example.com/premium');
 * } catch (error) {
 *   if (isExactChangeError(error, 'insufficient_funds')) console.log(error.details.required);
 *   else throw error;
 * }
 */
export function isExactChangeError<C extends ErrorCode = ErrorCode>(value: unknown, code?: C): value is ExactChangeError<C> {
  if (typeof value !== 'object' || value === null || !(BRAND in value) || !('code' in value)) return false;
  return code === undefined || value.code === code;
}

function isErrorCode(text: string): text is ErrorCode {
  return Object.prototype.hasOwnProperty.call(CODES, text);
}

/**
 * The same error with what became known further out: transactions of ours that had landed before it (`funds` then says so),
 * and the response that led to it. Everything else stays.
 */
export function amendError(
  error: ExactChangeError,
  { moved = [], response }: { readonly moved?: readonly Moved[]; readonly response?: Response },
): ExactChangeError {
  const all = [...moved.filter((one) => !error.moved.some((known) => known.signature === one.signature)), ...error.moved];
  const landed: Funds = all.some((one) => one.kind === 'payment') ? 'spent' : all.length > 0 ? 'swapped' : error.funds;
  // What landed is known; what may still land outweighs it.
  const open = error.funds === 'uncertain' || error.funds === 'spent';
  const seen = error.response ?? response;
  const { code, details, retry, cause, untrusted } = error;
  // A copy, because one failure may be shared by calls of which only some have moved anything.
  const copy = new ExactChangeError(code, error.message, {
    details,
    funds: open ? error.funds : landed,
    moved: all,
    retry,
    ...(cause === undefined ? {} : { cause }),
    ...(untrusted === undefined ? {} : { untrusted }),
    ...(seen === undefined ? {} : { response: seen }),
  });
  if (error.stack !== undefined) copy.stack = error.stack;
  copy.name = error.name;
  Object.setPrototypeOf(copy, Reflect.getPrototypeOf(error));
  return copy;
}

const UNTRUSTED_LIMIT = 200;
/** More than is shown, so that no secret is cut before it is hidden. */
const READ_LIMIT = 64 * UNTRUSTED_LIMIT;
// Control characters, what directs text or does not show (tags and variation selectors can carry whole hidden sentences), line and
// paragraph separators, private characters, half surrogates: nothing a log, a terminal or a language model should act on.
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\ufff0-\uffff]/gu;

/** Text from a seller or a service, made fit to show: none of our keys, no control, direction or hidden characters, at most 200 characters. */
export function cleanText(text: string): string {
  const clean = redact(text.slice(0, READ_LIMIT))
    .slice(0, 4 * UNTRUSTED_LIMIT)
    .replace(UNSAFE, ' ')
    .trim()
    .slice(0, UNTRUSTED_LIMIT);
  // The cut may have halved a character.
  return clean.replace(UNSAFE, '').trim();
}

function cleanUntrusted(untrusted: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.freeze(Object.fromEntries(Object.entries(untrusted).map(([key, text]) => [key, cleanText(text)])));
}
