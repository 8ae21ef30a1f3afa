import type { ErrorCode } from '../src/errors/codes.js';

/** What the documentation says of an error code. */
export interface ErrorText {
  readonly when: string;
  readonly remedy: string;
}

/** The codes that a first user meets, for README. */
export const commonErrors: readonly ErrorCode[] = [
  'insufficient_funds',
  'insufficient_sol',
  'amount_over_limit',
  'budget_exhausted',
  'payment_rejected',
  'payment_uncertain',
  'already_spent',
  'rate_limited',
];

export const errorTexts: Readonly<Record<ErrorCode, ErrorText>> = {
  invalid_option: {
    when: 'An option or argument is wrong or misspelt',
    remedy: 'Correct it; `details.option` names it',
  },
  invalid_key: {
    when: '`walletSecretKey` is no whole key (but an address, say), or `walletSeed` no seed',
    remedy: 'Give the 64 bytes as base58, a JSON array or bytes',
  },
  missing_dependency: {
    when: 'The runtime has no `fetch`, an optional package is not installed, or a part of this library could not be loaded',
    remedy: 'Install `details.packages`; if that is `exact-change`, call again, or reload the page',
  },
  client_closed: { when: 'The client was closed', remedy: 'Create a new one' },
  idempotency_mismatch: {
    when: 'An `idempotencyKey` came again with another request',
    remedy: 'Use one key for one request, a new one for another',
  },
  malformed_payment_required: {
    when: 'The 402 asks for a payment but cannot be read',
    remedy: 'Tell the seller',
  },
  unsupported_offer: {
    when: 'Scheme, payee or flow that this library does not pay',
    remedy: 'Nothing to do; `details.reason` says which',
  },
  unsupported_network: {
    when: 'The offer is for another network',
    remedy: 'Set `network`, or use another client',
  },
  no_payable_offer: {
    when: 'None of several offers can be paid',
    remedy: "`details.offers` has each one's reason",
  },
  insecure_origin: { when: 'The seller is not on https', remedy: 'Use its https address' },
  body_not_replayable: {
    when: 'The request body is above 1 MiB, or broke off',
    remedy: 'Send a smaller body',
  },
  header_too_large: {
    when: "The seller's terms make a header that servers refuse",
    remedy: 'Tell the seller',
  },
  amount_over_limit: {
    when: 'The price is above a cap on single payments, or a swap above `policy.maxInAmount`',
    remedy: 'Raise the cap if the price is right',
  },
  budget_exhausted: {
    when: 'A cap over time has no room',
    remedy: 'Wait if `retry` is `fresh`, or raise it',
  },
  price_unknown: {
    when: 'The token has no price, so no dollar cap can hold',
    remedy: 'Set `policy.maxAmount` for it',
  },
  not_allowed: {
    when: '`policy.allow` or `policy.deny` refuses it',
    remedy: 'Change the list that `details.list` names',
  },
  approval_refused: {
    when: '`policy.approve` did not say `true`, or the price moved meanwhile',
    remedy: 'Call again if `details.reason` is `changed`',
  },
  fees_over_limit: {
    when: 'Network fee or rent is above `policy`',
    remedy: 'Try later, or raise the bound',
  },
  insufficient_funds: {
    when: 'The wallet lacks the token, or anything to swap for it',
    remedy: 'Fund the wallet: `details.link`; or turn `autoSwap` on',
  },
  insufficient_sol: {
    when: 'Too little SOL for fees and rent',
    remedy: 'Send SOL until the wallet has `details.requiredLamports` in all',
  },
  payee_account_missing: {
    when: 'The payee has no account for the token',
    remedy: 'Tell the seller',
  },
  account_unusable: {
    when: 'An own account is frozen, or another wallet may spend from or close it',
    remedy: 'Use another token, or repair it',
  },
  unknown_mint: { when: 'No such token on this network', remedy: 'Check the mint and the network' },
  mint_not_supported: {
    when: 'The token takes transfer fees, runs hooks, or is not what it is pinned to be',
    remedy: 'Use another token',
  },
  no_route: { when: 'Jupiter has no route for any candidate', remedy: 'Hold another token' },
  price_impact_too_high: {
    when: 'The swap would move the price too much',
    remedy: 'Swap less, or from another token',
  },
  swap_overhead_too_high: {
    when: 'A swap between dollar tokens would lose too much',
    remedy: 'Try later',
  },
  quote_mismatch: {
    when: 'A quote does not answer the question',
    remedy: 'Try again; another `jupiterUrl` if it stays',
  },
  unsafe_swap: {
    when: 'A swap broke a [rule of the firewall](../SECURITY.md#the-swap-firewall)',
    remedy: 'Report it; `details.rule` names the rule',
  },
  transaction_too_large: {
    when: 'The route does not fit a transaction',
    remedy: 'Swap from another token',
  },
  simulation_failed: { when: 'The swap fails in simulation', remedy: 'Try again' },
  self_check_failed: {
    when: 'Our own payment or swap is not what it should be: a bug',
    remedy: 'Report it',
  },
  signing_failed: {
    when: 'The signer refused, failed, or changed what it signed',
    remedy: 'Look at `cause` and `details.rule`',
  },
  swap_failed: {
    when: 'The swap landed and failed; only its network fee is gone',
    remedy: 'Try again',
  },
  swap_expired: { when: 'The swap provably never landed', remedy: 'Try again' },
  swap_uncertain: {
    when: "The swap's outcome is not known",
    remedy: 'Look up `details.signature` before trying again',
  },
  payment_rejected: {
    when: 'A 402 came after payment; `funds` says what the chain knows',
    remedy:
      'Repeat after `details.lastValidBlockHeight`; `untrusted.reason` is what the seller says',
  },
  payment_uncertain: {
    when: 'The answer to the paid request was lost',
    remedy: 'Repeat the same call: it never pays twice',
  },
  payment_in_progress: {
    when: 'A call with the same `idempotencyKey` is being paid',
    remedy: 'Wait for it',
  },
  already_spent: {
    when: 'This purchase is paid, its answer is gone',
    remedy: 'Ask the seller with `details.signature`',
  },
  journal_unavailable: {
    when: 'The journal could not be read or written, so nothing was signed',
    remedy: 'Repair it, then try again',
  },
  journal_locked: {
    when: "A process of another machine, `details.pid`, may have the journal's file",
    remedy: 'Use one machine for a file, or Postgres',
  },
  journal_damaged: {
    when: "The journal's file is damaged before its end, or a browser has removed its journal",
    remedy: 'Restore it; nothing is spent meanwhile',
  },
  rpc_unavailable: { when: 'No RPC node answered', remedy: 'Try again, or add nodes to `rpcUrl`' },
  rpc_wrong_network: {
    when: 'The RPC node serves another network',
    remedy: 'Correct `rpcUrl` or `network`',
  },
  jupiter_unavailable: {
    when: 'Jupiter is down or refuses the key',
    remedy: 'Try again; check `jupiterApiKey`',
  },
  service_unavailable: {
    when: 'The service at `apiUrl` is down, or its answer was lost',
    remedy: 'Try again; check `apiUrl`',
  },
  rate_limited: {
    when: 'Still limited after waiting',
    remedy: 'Wait `details.retryAfterMs`, or use a plan with more room',
  },
  timeout: {
    when: 'A step took longer than its deadline',
    remedy: 'Try again, or raise `timeouts`',
  },
  invalid_response: {
    when: 'A node or service answered nonsense, or a webhook is not to be trusted',
    remedy: 'Try again, or use another; answer a webhook with 400',
  },
};
