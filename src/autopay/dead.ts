import type { Attempt, SwapOutcome } from '../journal/types.js';
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../network.js';
import { associatedTokenAddress } from '../solana/accounts.js';
import type { Core } from './core.js';
import { ownerOf } from './owner.js';

/** Attempts in a state that no call is at, in this process or another. */
export async function deadOnes(core: Core, state: 'signed' | 'reserved' | 'abandoned'): Promise<Attempt[]> {
  const ids = (await listed(core, state)).map(({ id }) => id);
  if (ids.length === 0) return [];
  const live = await core.claims.live(ids);
  const dead = new Set(ids.filter((id) => !live.has(id)));
  if (dead.size === 0) return [];
  // Again: one that was alive when it was listed may have gone on, and been let go, before anybody was asked about it.
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

/** Gives back what dead calls reserved and held. Those that signed a swap stay on record until that can land no more. */
export async function freeDead(core: Core): Promise<Freed> {
  const dead = await deadOnes(core, 'reserved');
  const abandoned: Attempt[] = [];
  for (const attempt of dead) {
    await releaseHolds(core, attempt);
    if (attempt.swap === undefined) await core.journal.release(attempt.id);
    // Where it goes on after all, it is left alone.
    else
      await toAbandoned(core, attempt).then(
        (one) => abandoned.push(one),
        () => undefined,
      );
  }
  return { freed: dead.length, abandoned };
}

/** Frees the budget and the key of an attempt that signed no payment, and keeps its swap on record. */
export async function toAbandoned(core: Core, attempt: Attempt): Promise<Attempt> {
  const { idempotencyKey: _key, ...rest } = attempt;
  const abandoned: Attempt = { ...rest, state: 'abandoned' };
  await core.journal.put(abandoned);
  return abandoned;
}

/** Puts on record what became of an attempt's swap, and only then forgets the attempt, which signed no payment. Somebody else may have done so. */
export async function forgetDecided(core: Core, attempt: Attempt, outcome: SwapOutcome | undefined): Promise<void> {
  const { swap, state } = attempt;
  const isOnRecord = state === 'abandoned' && swap?.outcome !== undefined;
  if (swap !== undefined && outcome !== undefined && !isOnRecord) {
    await toAbandoned(core, { ...attempt, swap: { ...swap, outcome } }).catch(async (error: unknown) => {
      if (await isThere(core, attempt.id)) throw error;
    });
  }
  await core.journal.release(attempt.id);
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
