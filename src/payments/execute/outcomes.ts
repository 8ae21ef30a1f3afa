import type { SettlementClaim } from '../../protocols/protocol.js';

/**
 * Every outcome of presenting a signed payment, as data. The code acts by this table, the
 * documentation shows it with the texts of `scripts/state-texts.ts`, and the tests walk through it.
 * The chain decides each payment in the end.
 *
 * - `call`: the result that the caller gets.
 * - `delivered`: the purchase counts as received when its body was read to the end. An equal call
 *   is then a new purchase.
 * - `askFirst`: the chain is asked before the call ends, not only in the background.
 * - `resign`: the seller says that nothing was settled, so the caller's policy may allow one more
 *   signature.
 */
export const outcomes = {
  success: { call: 'the response', delivered: true, askFirst: false, resign: false },
  failure: { call: 'the response', delivered: false, askFirst: false, resign: false },
  pending: { call: 'payment_rejected', delivered: false, askFirst: true, resign: false },
  duplicate: { call: 'payment_rejected', delivered: false, askFirst: true, resign: false },
  unsettled: { call: 'payment_rejected', delivered: false, askFirst: false, resign: false },
  refused: { call: 'payment_rejected', delivered: false, askFirst: false, resign: true },
  lost: { call: 'payment_uncertain', delivered: false, askFirst: false, resign: false },
} as const;

export type AnswerOutcome = keyof typeof outcomes;

export function outcomeOf(status: number, word: SettlementClaim): Exclude<AnswerOutcome, 'lost'> {
  if (status === 402) return rejectionOf(word);
  return (status >= 200 && status < 300) || status === 304 ? 'success' : 'failure';
}

function rejectionOf({
  settlement,
  reason,
  hasTerms = false,
}: SettlementClaim): 'pending' | 'duplicate' | 'unsettled' | 'refused' {
  // v1 servers give the reason in the body, and facilitators write it with or without a prefix.
  const says = (pattern: RegExp) =>
    [settlement?.errorReason, reason].some((text) => text !== undefined && pattern.test(text));
  if (says(/(?:^|_)settlement_pending$/)) return 'pending';
  if (says(/(?:^|_)duplicate_settlement$/)) return 'duplicate';
  return hasTerms && settlement === undefined ? 'refused' : 'unsettled';
}
