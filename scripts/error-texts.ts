import type { ErrorCode } from '../src/errors/codes.js';

/** Texts of an error code's row in the documentation. */
export interface ErrorText {
  readonly when: string;
  readonly remedy: string;
}

/** Codes that new users meet first; README lists them. */
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
    when: '`walletSecretKey` is not a complete key (perhaps an address), or `walletSeed` is not a seed',
    remedy: 'Give the 64 bytes as base58, a JSON array or bytes',
  },
  missing_dependency: {
    when: 'The runtime has no `fetch` or no random numbers, an optional package is not installed, or a part of this library could not be loaded',
    remedy: 'Install `details.packages`; if that is `exact-change`, call again, or reload the page',
  },
  client_closed: { when: 'The client was closed', remedy: 'Create a new one' },
  idempotency_mismatch: {
    when: 'An `idempotencyKey` was used again for a different request',
    remedy: 'Use a new key for each different request',
  },
  malformed_payment_required: {
    when: 'The 402 asks for a payment but cannot be read',
    remedy: 'Tell the seller',
  },
  unsupported_offer: {
    when: 'The offer has a scheme, payee or flow that this library does not pay',
    remedy: 'Nothing to do; `details.reason` names the reason',
  },
  unsupported_network: {
    when: 'The offer is for another network',
    remedy: 'Set `network`, or use another client',
  },
  no_payable_offer: {
    when: 'None of several offers can be paid',
    remedy: '`details.offers` has the reason for each offer',
  },
  insecure_origin: { when: 'The seller is not on https', remedy: 'Use its https address' },
  body_not_replayable: {
    when: 'The request body is larger than 1 MiB, or broke off',
    remedy: 'Send a smaller body',
  },
  header_too_large: {
    when: "The seller's terms make the payment header too large for servers",
    remedy: 'Tell the seller',
  },
  amount_over_limit: {
    when: 'The price is above a cap on one payment, or a swap above `policy.maxInAmount`',
    remedy: 'Raise the cap if the price is right',
  },
  budget_exhausted: {
    when: 'A cap over time has no room',
    remedy: 'If `retry` is `fresh`, wait; or raise the cap',
  },
  price_unknown: {
    when: 'The token has no price, so no dollar cap can hold',
    remedy: 'Set `policy.maxAmount` for it',
  },
  not_allowed: {
    when: '`policy.allow` or `policy.deny` refuses the payment',
    remedy: 'Change the list that `details.list` names',
  },
  approval_refused: {
    when: '`policy.approve` did not return `true`, or the price moved meanwhile',
    remedy: 'Call again if `details.reason` is `changed`',
  },
  fees_over_limit: {
    when: 'The network fee or the rent is above the limit of `policy`',
    remedy: 'Try later, or raise the limit',
  },
  insufficient_funds: {
    when: 'The wallet holds too little of the token, and nothing to swap for it',
    remedy: 'Fund the wallet (`details.link`), or turn `autoSwap` on',
  },
  insufficient_sol: {
    when: 'The wallet holds too little SOL for fees and rent',
    remedy: 'Send SOL until the wallet holds `details.requiredLamports`',
  },
  payee_account_missing: {
    when: 'The payee has no account for the token',
    remedy: 'Tell the seller',
  },
  account_unusable: {
    when: 'A token account of the wallet is frozen, another wallet may spend from it or close it, or each transfer to it needs a memo or must be confidential',
    remedy: 'Use another token, or repair the account',
  },
  unknown_mint: { when: 'No such token on this network', remedy: 'Check the mint and the network' },
  mint_not_supported: {
    when: 'The token takes transfer fees, runs hooks, or differs from its pinned entry',
    remedy: 'Use another token',
  },
  no_route: {
    when: 'Jupiter has no route from any token that the wallet holds',
    remedy: 'Hold another token',
  },
  price_impact_too_high: {
    when: 'The swap would move the price too much',
    remedy: 'Swap less, or from another token',
  },
  swap_overhead_too_high: {
    when: 'A swap between dollar tokens would lose too much',
    remedy: 'Try later',
  },
  quote_mismatch: {
    when: 'A quote does not match its request',
    remedy: 'Try again; if it repeats, use another `jupiterUrl`',
  },
  unsafe_swap: {
    when: 'A swap broke a [rule of the firewall](../SECURITY.md#the-swap-firewall)',
    remedy: 'Report it; `details.rule` names the rule',
  },
  transaction_too_large: {
    when: 'The route does not fit into a transaction',
    remedy: 'Swap from another token',
  },
  simulation_failed: { when: 'The swap fails in simulation', remedy: 'Try again' },
  self_check_failed: {
    when: 'This library built a payment or swap that is wrong: a bug',
    remedy: 'Report it',
  },
  signing_failed: {
    when: 'The signer refused, failed, or changed what it signed',
    remedy: 'Look at `cause` and `details.rule`',
  },
  swap_failed: {
    when: 'The swap landed and failed; it cost only its network fee',
    remedy: 'Try again',
  },
  swap_expired: { when: 'The swap expired: it can never land', remedy: 'Try again' },
  swap_uncertain: {
    when: "The swap's outcome is not known",
    remedy: 'Look up `details.signature` before trying again',
  },
  payment_rejected: {
    when: 'A 402 answered the paid request; `funds` says what the chain shows',
    remedy: 'Repeat it until it answers or says `already_spent`; `untrusted.reason` says why',
  },
  payment_uncertain: {
    when: 'The answer to the paid request was lost',
    remedy: 'Repeat the same call until it answers or says `already_spent`',
  },
  payment_in_progress: {
    when: 'Another call with the same `idempotencyKey` is paying',
    remedy: 'Wait for that call',
  },
  already_spent: {
    when: 'This purchase is paid; its answer was lost, or was delivered for this key',
    remedy: 'Ask the seller for a lost one, with `details.signature`; a new key buys again',
  },
  journal_unavailable: {
    when: 'The journal could not be read or written, so nothing that was signed has left',
    remedy: 'Repair the journal, then try again',
  },
  journal_locked: {
    when: "A process on another machine (`details.pid`) may use the journal's file",
    remedy: 'Use the file on one machine only, or use Postgres',
  },
  journal_damaged: {
    when: "The journal's file is damaged before its end, or the browser deleted the journal",
    remedy: 'Restore the journal; nothing is spent meanwhile',
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
    when: 'A server still limits the client after it waited',
    remedy: 'Wait for `details.retryAfterMs`, or use a larger plan',
  },
  timeout: {
    when: 'A step took longer than its deadline',
    remedy: 'Try again, or raise `timeouts`',
  },
  invalid_response: {
    when: 'A node or service sent an invalid answer, or a webhook could not be verified',
    remedy: 'Try again, or use another node or service; answer a webhook with 400',
  },
};
