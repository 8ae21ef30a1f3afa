import type { Settlement } from '../x402/types.js';

/**
 * What may come of presenting a signed payment, as data: the flow goes by it, the README shows it, and the tests walk it. The chain has the
 * last word on each, in the background or, where `askFirst`, before the call ends.
 *
 * - `call`: what the caller gets.
 * - `delivered`: what was bought counts as received, so that an equal call is a new purchase.
 * - `resign`: nothing was settled as far as the seller says, so the caller's policy may allow one more signature.
 */
export const outcomes = {
  success: { when: 'Any 2xx.', call: 'the response', delivered: true, askFirst: false, resign: false },
  refusal: {
    when: 'Another answer below 500 that says the payment is settled.',
    call: 'the response',
    delivered: true,
    askFirst: false,
    resign: false,
  },
  failure: {
    when: 'A 3xx, 4xx or 5xx that does not say so; any 5xx.',
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
    when: '402 whose settlement says that it failed, or any other word on it.',
    call: 'payment_rejected',
    delivered: false,
    askFirst: false,
    resign: false,
  },
  refused: {
    when: '402 without a settlement: refused before it was settled, as far as the seller says.',
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

export type Outcome = keyof typeof outcomes;

/** Reads an answer to a paid request. A wrapper repeats a 5xx on its own, so that is no delivery even where the payment settled. */
export function outcomeOf(status: number, settlement: Settlement | undefined, reason: string | undefined): Exclude<Outcome, 'lost'> {
  if (status === 402) return rejectionOf(settlement, reason);
  if (status >= 200 && status < 300) return 'success';
  return settlement?.success === true && status < 500 ? 'refusal' : 'failure';
}

function rejectionOf(settlement: Settlement | undefined, reason: string | undefined): 'pending' | 'duplicate' | 'unsettled' | 'refused' {
  // v1 servers say it in the body, and facilitators name it with a prefix or without.
  if (reason !== undefined && /(?:^|_)settlement_pending$/.test(reason)) return 'pending';
  if (reason !== undefined && /(?:^|_)duplicate_settlement$/.test(reason)) return 'duplicate';
  return settlement === undefined ? 'refused' : 'unsettled';
}
