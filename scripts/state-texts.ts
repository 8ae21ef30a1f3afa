import type { AttemptState } from '../src/journal/states.js';
import type { AnswerOutcome } from '../src/payments/execute/outcomes.js';

interface StateText {
  readonly meaning: string;
  /** What a process does that finds an attempt in this state after a crash. */
  readonly onCrash: string;
  /** What becomes of an equal call. */
  readonly onRepeat: string;
}

/** The words for {@link attemptStates}: no bundle carries them. */
export const stateTexts: Readonly<Record<AttemptState, StateText>> = {
  reserved: {
    meaning:
      'Its price and its swap count against the caps, and its tokens are being held or swapped for. No payment is signed.',
    onCrash:
      'Its price is freed, once its swap, if it signed one, can do no more. What swaps cost stays counted.',
    onRepeat: 'A new purchase; with its key while its call is alive: payment_in_progress.',
  },
  abandoned: {
    meaning:
      'It failed before a payment was signed, and a swap that it signed may still land. What that takes at most counts.',
    onCrash: 'Ends as unpaid once its swap can do no more, or is forgotten if that cost nothing.',
    onRepeat: 'A new purchase, which swaps into the same token only once that swap is decided.',
  },
  unpaid: {
    meaning: 'No payment was signed. What its swaps cost stays counted.',
    onCrash: 'Stays.',
    onRepeat: 'A new purchase.',
  },
  signed: {
    meaning:
      'A payment is signed and written here; it may have left, and it may land until its last valid block height is final.',
    onCrash: 'The chain is asked until it has decided.',
    onRepeat:
      'The chain is asked. Not decided: the same bytes again (GET, HEAD, a payment id, or repeatable), else payment_uncertain.',
  },
  settled: {
    meaning: 'Our own RPC showed the payment on chain.',
    onCrash: 'Stays.',
    onRepeat:
      'Answer delivered: a new purchase. Else the same bytes again (a payment id, or repeatable), or already_spent for retryWindow.',
  },
  unsettled: {
    meaning:
      'Proved that it can never land: its blockhash is too old at finalized, no search finds it, and the balance of its account lacks nothing that is not explained.',
    onCrash: 'Stays.',
    onRepeat: 'A new purchase.',
  },
};

/** When a payment that was presented has which of the `outcomes`. */
export const outcomeTexts: Readonly<Record<AnswerOutcome, string>> = {
  success: 'Any 2xx.',
  failure:
    'A 3xx, 4xx or 5xx, also one that says the payment is settled: a caller that repeats it means the same purchase.',
  pending: '402 with `settlement_pending`: sent, not confirmed.',
  duplicate:
    '402 with `duplicate_settlement`: the same bytes are settled, or being settled, already.',
  unsettled:
    '402 whose settlement says that it failed, that says nothing to go by, or that is cut.',
  refused:
    '402 of version 2 with terms and without a settlement, read whole: refused before it was settled, as far as the seller says.',
  lost: 'No answer: connection lost, or deadline passed.',
};
