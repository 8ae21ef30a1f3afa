/**
 * What a repeated call does. `never`: it fails again without a change. `same`: it presents the same
 * signed bytes again. `fresh`: it starts over.
 */
export type Retry = 'never' | 'same' | 'fresh';

/**
 * Why an entry of `accepts` was not paid. `untrusted` holds the seller's own strings, capped and
 * cleaned.
 */
export interface OfferRefusal {
  readonly index: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly untrusted?: Readonly<Record<string, string>>;
}

type None = Readonly<Record<string, never>>;

/**
 * Details of an error, by its code. JSON-safe; amounts are decimal strings of base units. The file
 * that throws an error writes its message.
 */
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
  amount_over_limit: {
    readonly cap: string;
    readonly limit: string;
    readonly amount: string;
    readonly unit: string;
  };
  budget_exhausted: {
    readonly cap: string;
    readonly limit: string;
    readonly used: string;
    readonly amount: string;
    readonly unit: string;
  };
  price_unknown: { readonly mint: string };
  /** `list`: the rule that refuses, such as `deny.hosts`; `value`: the refused value. */
  not_allowed: { readonly list: string; readonly value: string };
  /**
   * `refused`: the hook said no, failed, or did not answer in time. `changed`: the payment to sign
   * is no longer the approved payment.
   */
  approval_refused: { readonly reason: 'refused' | 'changed' };
  fees_over_limit: { readonly lamports: string; readonly limitLamports: string };
  // FundsError: the wallet or the payee cannot take part
  /** `link`: a `solana:` link to send the wallet the missing amount; never from a service. */
  insufficient_funds: {
    readonly mint: string;
    readonly required: string;
    readonly available: string;
    readonly link?: string;
  };
  insufficient_sol: {
    readonly requiredLamports: string;
    readonly availableLamports: string;
    readonly link?: string;
  };
  payee_account_missing: {
    readonly payTo: string;
    readonly mint: string;
    readonly tokenAccount: string;
  };
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
  /** `rule`: the rule that the signed bytes break, if the wallet changed the bytes. */
  signing_failed: { readonly address: string; readonly rule?: string };
  /**
   * `feeLamports`: network fees of all tries of this swap that landed. Fees are no tokens, so
   * `funds` is `untouched`.
   */
  swap_failed: {
    readonly signature: string;
    readonly reason: string;
    readonly feeLamports: string;
  };
  swap_expired: { readonly signature: string };
  swap_uncertain: { readonly signature: string; readonly lastValidBlockHeight: string };
  // SettlementError: after a signed payment left
  payment_rejected: {
    readonly payerSignature: string;
    readonly lastValidBlockHeight: string;
    readonly status: number;
  };
  payment_uncertain: { readonly payerSignature: string; readonly lastValidBlockHeight: string };
  /** No signature while the other call has not signed yet. */
  payment_in_progress: { readonly payerSignature?: string };
  already_spent: { readonly payerSignature: string; readonly signature?: string };
  // TransportError: a node, a service or a journal did not answer properly
  journal_unavailable: { readonly step: string };
  /** Process `pid` of another machine, or of an older version, may have the journal at `path`. */
  journal_locked: { readonly path: string; readonly pid: number };
  /** `offset`: bytes from the start of the file, or the row in a browser's database `path`. */
  journal_damaged: { readonly path: string; readonly offset: number };
  rpc_unavailable: { readonly method: string };
  rpc_wrong_network: { readonly expected: string; readonly actual: string };
  jupiter_unavailable: { readonly status: number };
  /** `status`: status of the last answer; 0 if there was none. */
  service_unavailable: { readonly status: number };
  rate_limited: { readonly retryAfterMs: number };
  timeout: { readonly step: string; readonly timeoutMs: number };
  invalid_response: { readonly service: string; readonly reason: string };
}

/** Stable, lower snake case, never reused. */
export type ErrorCode = keyof ErrorDetails;

export type Group =
  'Config' | 'Protocol' | 'Policy' | 'Funds' | 'Quote' | 'Transaction' | 'Settlement' | 'Transport';

/**
 * The class of each code, and its `retry` unless the thrower sets another value.
 */
export const CODES = {
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

export type CodesOf<G extends Group> = {
  [C in ErrorCode]: (typeof CODES)[C][0] extends G ? C : never;
}[ErrorCode];

/** All codes, for tables and tests. */
export const errorCodes: readonly ErrorCode[] = Object.freeze(
  Object.keys(CODES).filter(isErrorCode),
);

export function isErrorCode(text: string): text is ErrorCode {
  return Object.prototype.hasOwnProperty.call(CODES, text);
}
