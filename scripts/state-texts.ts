import type { AttemptState } from '../src/journal/states.js';
import type { AnswerOutcome } from '../src/payments/execute/outcomes.js';

interface StateText {
  readonly meaning: string;
  /** What happens to an attempt in this state after its process crashed. */
  readonly onCrash: string;
  /** Effect of an equal call. */
  readonly onRepeat: string;
}

/** Descriptions of {@link attemptStates} for the docs. They are kept out of the bundles. */
export const stateTexts: Readonly<Record<AttemptState, StateText>> = {
  reserved: {
    meaning:
      'Its price and its swap count against the caps, and its tokens are being held or swapped for. No payment is signed.',
    onCrash:
      'Its price is freed; if it signed a swap, only once that swap has landed or expired. What its swaps cost stays counted.',
    onRepeat: 'A new purchase; with its key while its call is alive: payment_in_progress.',
  },
  abandoned: {
    meaning:
      'It failed before a payment was signed, but its swap is signed and may still land. The most that the swap can take stays counted.',
    onCrash:
      'Becomes unpaid once its swap has landed or expired; it is forgotten if the swap cost nothing.',
    onRepeat: 'A new purchase. It swaps into the same token only once the earlier swap is decided.',
  },
  unpaid: {
    meaning: 'No payment was signed. What its swaps cost stays counted.',
    onCrash: 'Stays.',
    onRepeat: 'A new purchase.',
  },
  signed: {
    meaning:
      'A payment is signed and on record. It may have left, and it may land until its last valid block height is finalized.',
    onCrash: 'The client asks the chain until the chain has decided.',
    onRepeat:
      'The client asks the chain. If it has not decided, the client presents the same bytes again (GET, HEAD, a payment id, or repeatable); otherwise payment_uncertain. Without a key, a payment of over a day ago that no node remembers is forgotten: a new purchase.',
  },
  settled: {
    meaning: 'Your RPC node showed the payment on chain.',
    onCrash: 'Stays.',
    onRepeat:
      'If the answer was delivered, a new purchase; with its key, already_spent. Otherwise the client presents the same bytes again (a payment id, or repeatable), or the call gets already_spent, until retryWindow after the first.',
  },
  unsettled: {
    meaning:
      'The payment can never land, by two proofs: its blockhash has expired at the finalized commitment and no search finds the payment, and every change of the account balance is explained without it.',
    onCrash: 'Stays.',
    onRepeat: 'A new purchase.',
  },
};

/** For each of the `outcomes`, when the answer to a presented payment has it. */
export const outcomeTexts: Readonly<Record<AnswerOutcome, string>> = {
  success: 'Any 2xx; a 304, which tells the caller that its own copy is the answer.',
  failure:
    'Another 3xx, 4xx or 5xx, also if it says that the payment is settled. A repeated call is the same purchase.',
  pending: '402 with `settlement_pending`: the payment was sent, but is not confirmed.',
  duplicate:
    '402 with `duplicate_settlement`: the same bytes are settled already, or are being settled.',
  unsettled:
    '402 that reports a failed settlement, that gives no usable reason, or whose body is incomplete.',
  refused:
    '402 of x402 version 2 with terms, without a settlement, with a reason in its headers or read to its end: the seller says that it refused the payment before settling it.',
  lost: 'No answer: the connection was lost, or the deadline passed.',
};
