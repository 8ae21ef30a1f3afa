import { untilAborted } from '../deadline.js';
import type { Wallet } from '../journal/registry.js';
import type { Core } from './core.js';
import type { Open } from './follow.js';
import { written } from './save.js';

const leaving = new WeakMap<Wallet, Set<Promise<void>>>();

/**
 * Lets go of an attempt after all that is being written of it: whoever takes it up then finds it as it is. A caller that has given up is not kept
 * waiting; the next call at this wallet is, or it would take the attempt for one that is still at work, and pay beside it. Never rejects.
 */
export function leave(core: Core, open: Open, signal: AbortSignal | undefined): Promise<void> {
  const all = leaving.get(core.wallet) ?? new Set<Promise<void>>();
  leaving.set(core.wallet, all);
  const left = written(open)
    .then(() => core.claims.drop(open.attempt.id))
    .catch(() => undefined)
    .finally(() => all.delete(left));
  all.add(left);
  return untilAborted(left, signal).catch(() => undefined);
}

/** Waits until the calls that have ended at this wallet have let go. Rejects with the signal's reason. */
export async function allHaveLeft({ wallet }: Core, signal: AbortSignal | undefined): Promise<void> {
  await untilAborted(Promise.all([...(leaving.get(wallet) ?? [])]), signal);
}
