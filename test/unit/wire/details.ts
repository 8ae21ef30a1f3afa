import type { ErrorCode, ErrorDetails } from '../../../src/errors.js';

const MINT = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const SIGNATURE =
  '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW';
const presented = { payerSignature: SIGNATURE, lastValidBlockHeight: '300' };
const cap = { cap: 'maxPerPayment', limit: '1.00', amount: '2.50', unit: 'USD' };
const reason = { reason: 'it is not what it should be' };

/** Details of every code, as the library throws them. */
export const sampleDetails: { readonly [C in ErrorCode]: ErrorDetails[C] } = {
  invalid_option: { option: 'amount' },
  invalid_key: reason,
  missing_dependency: { packages: ['ws', 'litesvm'] },
  client_closed: {},
  idempotency_mismatch: {},
  malformed_payment_required: reason,
  unsupported_offer: reason,
  unsupported_network: { network: 'base' },
  no_payable_offer: {
    offers: [
      {
        index: 0,
        code: 'unsupported_offer',
        message: 'Offer 0 is of another kind.',
        untrusted: { scheme: 'upto' },
      },
    ],
  },
  insecure_origin: { origin: 'http://api.example.com' },
  body_not_replayable: { limitBytes: 1_048_576 },
  header_too_large: { bytes: 20_000, limitBytes: 12_288 },
  amount_over_limit: cap,
  budget_exhausted: { ...cap, used: '0.75' },
  price_unknown: { mint: MINT },
  not_allowed: { list: 'deny.hosts', value: 'api.example.com' },
  approval_refused: { reason: 'changed' },
  fees_over_limit: { lamports: '300000', limitLamports: '250000' },
  insufficient_funds: { mint: MINT, required: '10000', available: '0' },
  insufficient_sol: { requiredLamports: '900000', availableLamports: '5000' },
  payee_account_missing: { payTo: MINT, mint: MINT, tokenAccount: MINT },
  account_unusable: { account: MINT, reason: 'it has a delegate' },
  unknown_mint: { mint: MINT },
  mint_not_supported: { mint: MINT, reason: 'it has a transfer hook' },
  no_route: { inputMint: MINT, outputMint: MINT },
  price_impact_too_high: { priceImpactBps: 250.5, limitBps: 100 },
  swap_overhead_too_high: { lossBps: 130, limitBps: 100 },
  quote_mismatch: reason,
  unsafe_swap: { rule: 'swap_max_in' },
  transaction_too_large: { bytes: 1_300 },
  simulation_failed: reason,
  self_check_failed: reason,
  signing_failed: { address: MINT },
  swap_failed: { signature: SIGNATURE, reason: 'Custom 6001', feeLamports: '5000' },
  swap_expired: { signature: SIGNATURE },
  swap_uncertain: { signature: SIGNATURE, lastValidBlockHeight: '300' },
  payment_rejected: { ...presented, status: 402 },
  payment_uncertain: presented,
  payment_in_progress: { payerSignature: SIGNATURE },
  already_spent: { payerSignature: SIGNATURE, signature: SIGNATURE },
  journal_unavailable: { step: 'reserve' },
  journal_locked: { path: './payments.jsonl', pid: 4_242 },
  journal_damaged: { path: './payments.jsonl', offset: 512 },
  rpc_unavailable: { method: 'getLatestBlockhash' },
  rpc_wrong_network: {
    expected: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
    actual: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
  },
  jupiter_unavailable: { status: 503 },
  service_unavailable: { status: 502 },
  rate_limited: { retryAfterMs: 1_500 },
  timeout: { step: 'jupiter', timeoutMs: 10_000 },
  invalid_response: { service: 'jupiter', reason: 'it is not JSON' },
};
