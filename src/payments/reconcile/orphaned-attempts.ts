import type { Attempt, SwapOutcome } from '../../journal/types.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../network.js';
import { associatedTokenAddress } from '../../solana/tokens/accounts.js';
import type { Core } from '../context.js';
import { bodyClaim } from '../execute/release-claim.js';
import { ownerOf } from '../owner.js';
import { withoutBound, withSwapCost } from '../execute/swap-cost.js';
import { noteFreed, takenUp } from './resumed-changes.js';

/** Attempts in a state that no call is at, in this process or another. */
export async function deadOnes(core: Core, state: 'signed' | 'reserved' | 'abandoned'): Promise<Attempt[]> {
  const ids = (await listed(core, state)).map(({ id }) => id);
  if (ids.length === 0) return [];
  const live = await core.claims.live(ids.flatMap((id) => [id, bodyClaim(id)]));
  // One whose answer is still being read is its reader's: two that write of it would undo each other.
  const dead = new Set(ids.filter((id) => !live.has(id) && !live.has(bodyClaim(id))));
  if (dead.size === 0) return [];
  // Again: one that was alive when it was listed may have gone on, and been let go, before its claim was asked about.
  return (await listed(core, state)).filter(({ id }) => dead.has(id));
}

async function listed(core: Core, state: 'signed' | 'reserved' | 'abandoned'): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  for await (const attempt of core.journal.attempts(ownerOf(core), { state })) attempts.push(attempt);
  return attempts;
}

/** What was freed. */
export interface Freed {
  readonly freed: number;
  /** Those of them whose swap may still land. */
  readonly abandoned: readonly Attempt[];
}

/** Gives back what dead calls reserved and held. A swap that they signed stays on record until it can land no more, and what swaps cost stays. */
export async function freeDead(core: Core): Promise<Freed> {
  const dead = await deadOnes(core, 'reserved');
  const abandoned: Attempt[] = [];
  for (const attempt of dead) {
    await releaseHolds(core, attempt);
    takenUp(core, attempt);
    const mayLand = attempt.swap !== undefined && attempt.swap.outcome === undefined;
    const ending = mayLand ? toAbandoned(core, attempt).then((one) => void abandoned.push(one)) : endUnpaid(core, withoutBound(attempt));
    // If it goes on after all, it is left alone.
    await ending.catch(() => undefined);
  }
  return { freed: dead.length, abandoned };
}

/** Frees the price and the key of an attempt that signed no payment, and keeps its swap on record. */
export async function toAbandoned(core: Core, attempt: Attempt): Promise<Attempt> {
  const abandoned: Attempt = { ...withoutKey(attempt), state: 'abandoned' };
  await core.journal.put(abandoned);
  noteFreed(core, abandoned, 'abandoned');
  return abandoned;
}

/** Puts on record what became of the swap of an attempt that signed no payment, and ends the attempt. */
export async function endDecided(core: Core, attempt: Attempt, outcome: SwapOutcome): Promise<void> {
  const isDecided = attempt.swap === undefined || attempt.swap.outcome !== undefined;
  await endUnpaid(core, isDecided ? withoutBound(attempt) : withSwapCost(attempt, outcome));
}

/** Ends an attempt that signed no payment and whose swap is decided. What its swaps cost stays on record; if that is nothing, it is forgotten. */
export async function endUnpaid(core: Core, attempt: Attempt): Promise<void> {
  const { id, swap, swapped } = attempt;
  // Another process may have ended it already, and forgotten it.
  const put = (one: Attempt) =>
    core.journal.put(one).catch(async (error: unknown) => {
      if (await isThere(core, id)) throw error;
      return undefined;
    });
  if (swapped !== undefined) {
    await put({ ...withoutKey(attempt), state: 'unpaid', leftAt: core.config.runtime.now() });
  } else {
    // What became of its swap is told first.
    if (swap?.outcome !== undefined) await put({ ...withoutKey(attempt), state: 'abandoned' });
    await core.journal.release(id);
  }
  noteFreed(core, attempt, 'unpaid');
}

function withoutKey({ idempotencyKey: _key, ...attempt }: Attempt): Attempt {
  return attempt;
}

async function isThere(core: Core, id: string): Promise<boolean> {
  for (const state of ['reserved', 'abandoned'] as const) if ((await listed(core, state)).some((one) => one.id === id)) return true;
  return false;
}

/** Which of the two token programs its mint belongs to is not on record. */
async function releaseHolds({ ledger, config }: Core, { id, mint }: Attempt): Promise<void> {
  for (const program of [TOKEN_PROGRAM, TOKEN_2022_PROGRAM]) {
    await ledger.release(associatedTokenAddress(config.signer.address, mint, program), id);
  }
}
