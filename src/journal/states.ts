/**
 * States of an attempt, and the rules that every journal enforces. `scripts/state-texts.ts` says
 * what each state means, and what follows a crash or an equal call. The documentation shows both,
 * and tests check them.
 *
 * - `counts`: the price counts against the caps. The cost of swaps counts in every state.
 * - `next`: states that a journal lets follow.
 * - `decided`: the chain has decided. A journal then ignores a write of a state that may not
 *   follow, because its process does not know the decision. In any other state it refuses it.
 * - `release`: a journal may forget the attempt.
 */
export const attemptStates = {
  reserved: {
    counts: true,
    decided: false,
    next: ['reserved', 'abandoned', 'unpaid', 'signed'],
    release: true,
  },
  abandoned: { counts: false, decided: false, next: ['abandoned', 'unpaid'], release: true },
  unpaid: { counts: false, decided: false, next: ['unpaid'], release: false },
  signed: {
    counts: true,
    decided: false,
    next: ['signed', 'settled', 'unsettled'],
    release: false,
  },
  settled: { counts: true, decided: true, next: ['settled'], release: false },
  unsettled: { counts: false, decided: true, next: ['unsettled'], release: false },
} as const;

export type AttemptState = keyof typeof attemptStates;

/** States of attempts that are not over: a payment, a swap or the chain still has to decide. */
export const openStates: readonly AttemptState[] = ['reserved', 'abandoned', 'signed'];

export function isOpen({ state }: { readonly state: AttemptState }): boolean {
  return openStates.includes(state);
}

export function mayFollow(from: AttemptState, to: AttemptState): boolean {
  const next: readonly AttemptState[] = attemptStates[from].next;
  return next.includes(to);
}
