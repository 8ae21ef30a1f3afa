import type { SellersWord } from '../../protocols/protocol.js';

/**
 * What may come of presenting a signed payment, as data: the flow goes by it, the documentation
 * shows it, and the tests walk it. The chain has the last word on each, in the background or, if
 * `askFirst`, before the call ends.
 *
 * - `call`: what the caller gets.
 * - `delivered`: what was bought counts as received once its body was read to its end, so that an
 *   equal call is a new purchase.
 * - `resign`: nothing was settled as far as the seller says, so the caller's policy may allow one
 *   more signature.
 */
export const outcomes = {
  success: {
    when: 'Any 2xx.',
    call: 'the response',
    delivered: true,
    askFirst: false,
    resign: false,
  },
  failure: {
    when: 'A 3xx, 4xx or 5xx, also one that says the payment is settled: a caller that repeats it means the same purchase.',
    call: 'the response',
    delivered: false,
    askFirst: false,
    resign: false,
  },
  pending: {
    when: '402 with `settlement_pending`: sent, not confirmed.',
    call: 'payment_rejected',
    delivered: false,
    askFirst: true,
    resign: false,
  },
  duplicate: {
    when: '402 with `duplicate_settlement`: the same bytes are settled, or being settled, already.',
    call: 'payment_rejected',
    delivered: false,
    askFirst: true,
    resign: false,
  },
  unsettled: {
    when: '402 whose settlement says that it failed, or that says nothing to go by.',
    call: 'payment_rejected',
    delivered: false,
    askFirst: false,
    resign: false,
  },
  refused: {
    when: '402 of version 2 with terms and without a settlement: refused before it was settled, as far as the seller says.',
    call: 'payment_rejected',
    delivered: false,
    askFirst: false,
    resign: true,
  },
  lost: {
    when: 'No answer: connection lost, or deadline passed.',
    call: 'payment_uncertain',
    delivered: false,
    askFirst: false,
    resign: false,
  },
} as const;

export type AnswerOutcome = keyof typeof outcomes;

/** Reads an answer to a paid request. */
export function outcomeOf(status: number, word: SellersWord): Exclude<AnswerOutcome, 'lost'> {
  if (status === 402) return rejectionOf(word);
  return status >= 200 && status < 300 ? 'success' : 'failure';
}

function rejectionOf({
  settlement,
  reason,
  hasTerms = false,
}: SellersWord): 'pending' | 'duplicate' | 'unsettled' | 'refused' {
  // v1 servers say it in the body, and facilitators name it with a prefix or without.
  const says = (what: RegExp) =>
    [settlement?.errorReason, reason].some((text) => text !== undefined && what.test(text));
  if (says(/(?:^|_)settlement_pending$/)) return 'pending';
  if (says(/(?:^|_)duplicate_settlement$/)) return 'duplicate';
  return hasTerms && settlement === undefined ? 'refused' : 'unsettled';
}
