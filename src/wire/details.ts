import * as v from 'valibot';
import { cleanText, type ErrorCode, type ErrorDetails, type OfferRefusal } from '../errors.js';
import { count, digits } from './fields.js';
import { offerRefusal } from './payment.js';
import { aboutProblem } from './problem-codes.js';

/**
 * Replaces sentences of a service in `details`: its text is hostile, so it goes under `untrusted`.
 */
const ELSEWHERE = 'see untrusted';

const none = v.object({});
const words = v.pipe(
  v.string(),
  v.transform(() => ELSEWHERE),
);
const reason = v.object({ reason: words });
// An address, a name or another short value. It has no space, so it cannot be a sentence.
const text = v.pipe(v.string(), v.regex(/^[\x21-\x7e]{1,128}$/));
const mintOnly = v.object({ mint: text });
const route = v.object({ inputMint: text, outputMint: text });
const signature = v.object({ signature: text });
const presented = { payerSignature: text, lastValidBlockHeight: digits };
// Dollars, base units or a number of payments, as `unit` says.
const cap = { cap: text, limit: text, amount: text, unit: text };

/**
 * Schemas of the details of each code, as a service may send them: only numbers and names pass, and
 * each sentence is replaced.
 */
export const detailsSchemas: {
  readonly [C in ErrorCode]: v.GenericSchema<unknown, ErrorDetails[C]>;
} = {
  invalid_option: v.object({ option: text }),
  invalid_key: reason,
  missing_dependency: v.object({ packages: v.pipe(v.array(text), v.maxLength(50)) }),
  client_closed: none,
  idempotency_mismatch: none,
  malformed_payment_required: reason,
  unsupported_offer: reason,
  unsupported_network: v.object({ network: text }),
  no_payable_offer: v.object({
    offers: v.pipe(v.array(v.pipe(offerRefusal, v.transform(withOwnMessage))), v.maxLength(64)),
  }),
  insecure_origin: v.object({ origin: text }),
  body_not_replayable: v.object({ limitBytes: count }),
  header_too_large: v.object({ bytes: count, limitBytes: count }),
  amount_over_limit: v.object(cap),
  budget_exhausted: v.object({ ...cap, used: text }),
  price_unknown: mintOnly,
  not_allowed: v.object({ list: text, value: text }),
  approval_refused: v.object({ reason: v.picklist(['refused', 'changed']) }),
  fees_over_limit: v.object({ lamports: digits, limitLamports: digits }),
  insufficient_funds: v.object({ mint: text, required: digits, available: digits }),
  insufficient_sol: v.object({ requiredLamports: digits, availableLamports: digits }),
  payee_account_missing: v.object({ payTo: text, mint: text, tokenAccount: text }),
  account_unusable: v.object({ account: text, reason: words }),
  unknown_mint: mintOnly,
  mint_not_supported: v.object({ mint: text, reason: words }),
  no_route: route,
  price_impact_too_high: v.object({ priceImpactBps: finite(), limitBps: finite() }),
  swap_overhead_too_high: v.object({ lossBps: finite(), limitBps: finite() }),
  quote_mismatch: reason,
  unsafe_swap: v.object({ rule: text }),
  transaction_too_large: v.object({ bytes: count }),
  simulation_failed: reason,
  self_check_failed: reason,
  signing_failed: v.object({ address: text, rule: v.exactOptional(text) }),
  swap_failed: v.object({ signature: text, reason: words, feeLamports: digits }),
  swap_expired: signature,
  swap_uncertain: v.object({ signature: text, lastValidBlockHeight: digits }),
  payment_rejected: v.object({ ...presented, status: count }),
  payment_uncertain: v.object(presented),
  payment_in_progress: v.object({ payerSignature: v.exactOptional(text) }),
  already_spent: v.object({ payerSignature: text, signature: v.exactOptional(text) }),
  journal_unavailable: v.object({ step: text }),
  journal_locked: v.object({ path: words, pid: count }),
  journal_damaged: v.object({ path: words, offset: count }),
  rpc_unavailable: v.object({ method: text }),
  rpc_wrong_network: v.object({ expected: text, actual: text }),
  jupiter_unavailable: v.object({ status: count }),
  service_unavailable: v.object({ status: count }),
  rate_limited: v.object({ retryAfterMs: count }),
  timeout: v.object({ step: text, timeoutMs: count }),
  invalid_response: v.object({ service: text, reason: words }),
};

function finite(): v.GenericSchema<number> {
  return v.pipe(v.number(), v.finite());
}

function withOwnMessage({ message, untrusted, ...rest }: OfferRefusal): OfferRefusal {
  return { ...rest, message: aboutProblem(rest.code).title, untrusted: { ...untrusted, message } };
}

/**
 * Returns the service's sentences in the details of an error, cleaned so that they can be shown.
 */
export function wordsIn(details: object): Readonly<Record<string, string>> {
  const sentences = Object.entries(details).filter(
    (entry): entry is [string, string] => WORDS.includes(entry[0]) && typeof entry[1] === 'string',
  );
  return Object.fromEntries(sentences.map(([name, sentence]) => [name, cleanText(sentence)]));
}

const WORDS: readonly string[] = ['reason', 'path'];
