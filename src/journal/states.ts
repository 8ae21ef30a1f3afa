/**
 * The life of an attempt to pay, as data. The journals hold to `next`, the flow to `onCrash` and
 * `onRepeat`, the documentation shows the table, and the tests walk it.
 *
 * - `counts`: its price counts against the caps. What its swaps take counts in every state.
 * - `next`: what a journal lets follow.
 * - `decided`: the chain has spoken. What comes later from a process that does not know that is
 *   dropped; in any other state it is refused.
 * - `release`: a journal may forget it.
 */
export const attemptStates = {
  reserved: {
    meaning:
      'Its price and its swap count against the caps, and its tokens are being held or swapped for. No payment is signed.',
    counts: true,
    decided: false,
    next: ['reserved', 'abandoned', 'unpaid', 'signed'],
    release: true,
    onCrash:
      'Its price is freed, once its swap, if it signed one, can do no more. What swaps cost stays counted.',
    onRepeat: 'A new purchase; with its key while its call is alive: payment_in_progress.',
  },
  abandoned: {
    meaning:
      'It failed before a payment was signed, and a swap that it signed may still land. What that takes at most counts.',
    counts: false,
    decided: false,
    next: ['abandoned', 'unpaid'],
    release: true,
    onCrash: 'Ends as unpaid once its swap can do no more, or is forgotten if that cost nothing.',
    onRepeat: 'A new purchase, which swaps into the same token only once that swap is decided.',
  },
  unpaid: {
    meaning: 'No payment was signed. What its swaps cost stays counted.',
    counts: false,
    decided: false,
    next: ['unpaid'],
    release: false,
    onCrash: 'Stays.',
    onRepeat: 'A new purchase.',
  },
  signed: {
    meaning:
      'A payment is signed and written here; it may have left, and it may land until its last valid block height is final.',
    counts: true,
    decided: false,
    next: ['signed', 'settled', 'unsettled'],
    release: false,
    onCrash: 'The chain is asked until it has decided.',
    onRepeat:
      'The chain is asked. Not decided: the same bytes again (GET, HEAD, a payment id, or repeatable), else payment_uncertain.',
  },
  settled: {
    meaning: 'Our own RPC showed the payment on chain.',
    counts: true,
    decided: true,
    next: ['settled'],
    release: false,
    onCrash: 'Stays.',
    onRepeat:
      'Answer delivered: a new purchase. Else the same bytes again (a payment id, or repeatable), or already_spent for retryWindow.',
  },
  unsettled: {
    meaning:
      'Proved that it can never land: its blockhash is too old at finalized, no search finds it, and the balance of its account lacks nothing that is not explained.',
    counts: false,
    decided: true,
    next: ['unsettled'],
    release: false,
    onCrash: 'Stays.',
    onRepeat: 'A new purchase.',
  },
} as const;

export type AttemptState = keyof typeof attemptStates;

/** States that something is still to follow: a payment to sign, or the chain's word. */
export const openStates: readonly AttemptState[] = ['reserved', 'abandoned', 'signed'];

export function isOpen({ state }: { readonly state: AttemptState }): boolean {
  return openStates.includes(state);
}

/** Whether a journal lets one state follow another. */
export function mayFollow(from: AttemptState, to: AttemptState): boolean {
  const next: readonly AttemptState[] = attemptStates[from].next;
  return next.includes(to);
}
