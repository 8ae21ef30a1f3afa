/**
 * The life of an attempt to pay, as data, which the journals hold to. What each state means, and
 * what follows a crash or an equal call, stands in `scripts/state-texts.ts`: the documentation
 * shows both, and the tests walk them.
 *
 * - `counts`: its price counts against the caps. What its swaps take counts in every state.
 * - `next`: what a journal lets follow.
 * - `decided`: the chain has spoken. What comes later from a process that does not know that is
 *   dropped; in any other state it is refused.
 * - `release`: a journal may forget it.
 */
export const attemptStates = {
  reserved: {
    counts: true,
    decided: false,
    next: ['reserved', 'abandoned', 'unpaid', 'signed'],
    release: true,
  },
  abandoned: {
    counts: false,
    decided: false,
    next: ['abandoned', 'unpaid'],
    release: true,
  },
  unpaid: {
    counts: false,
    decided: false,
    next: ['unpaid'],
    release: false,
  },
  signed: {
    counts: true,
    decided: false,
    next: ['signed', 'settled', 'unsettled'],
    release: false,
  },
  settled: {
    counts: true,
    decided: true,
    next: ['settled'],
    release: false,
  },
  unsettled: {
    counts: false,
    decided: true,
    next: ['unsettled'],
    release: false,
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
