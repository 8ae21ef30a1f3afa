import type { SellersWord } from '../../protocols/protocol.js';

/**
 * What may come of presenting a signed payment, as data: the flow goes by it, the documentation
 * shows it with the words of `scripts/state-texts.ts`, and the tests walk it. The chain has the
 * last word on each, in the background or, if `askFirst`, before the call ends.
 *
 * - `call`: what the caller gets.
 * - `delivered`: what was bought counts as received once its body was read to its end, so that an
 *   equal call is a new purchase.
 * - `resign`: nothing was settled as far as the seller says, so the caller's policy may allow one
 *   more signature.
 */
export const outcomes = {
  success: {
    call: 'the response',
    delivered: true,
    askFirst: false,
    resign: false,
  },
  failure: {
    call: 'the response',
    delivered: false,
    askFirst: false,
    resign: false,
  },
  pending: {
    call: 'payment_rejected',
    delivered: false,
    askFirst: true,
    resign: false,
  },
  duplicate: {
    call: 'payment_rejected',
    delivered: false,
    askFirst: true,
    resign: false,
  },
  unsettled: {
    call: 'payment_rejected',
    delivered: false,
    askFirst: false,
    resign: false,
  },
  refused: {
    call: 'payment_rejected',
    delivered: false,
    askFirst: false,
    resign: true,
  },
  lost: {
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
