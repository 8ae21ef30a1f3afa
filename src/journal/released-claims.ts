import { isExactChangeError } from '../errors.js';
import type { Along, Claims, Journal } from './types.js';

/** A release of claims that the journal may not know yet. */
export interface Drop {
  /** The call that tells the journal of the release, while it runs. */
  telling?: Promise<void> | undefined;
}

/** Claims that this process released, each with its latest release, for all payers of a wallet. */
export type ReleasedClaims = Map<string, Drop>;

/** Waits without keeping the process alive. */
type Sleep = (ms: number) => Promise<void>;

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/** Tells a journal in growing waits, until it takes the call. Rejects once it is closed. */
export async function untilTold(sleep: Sleep, tell: () => Promise<unknown>): Promise<void> {
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    await sleep(wait);
    try {
      return void (await tell());
    } catch (error) {
      // A journal that was closed has released its claims.
      if (isExactChangeError(error) && error.retry === 'never') throw error;
    }
  }
}

/**
 * Wraps the claims of a journal: a claim that this process released is over, even if the journal
 * could not be told. Otherwise a repeated call would take it for a call still at work, and pay
 * beside it. The journal is told again in the background, for other processes.
 */
export function claimsWithReleases(claims: Claims, released: ReleasedClaims, sleep: Sleep): Claims {
  // An id that was claimed and released again meanwhile belongs to a newer release.
  const untold = (ids: readonly string[], drop: Drop) =>
    ids.filter((id) => released.get(id) === drop);
  const tell = async (ids: readonly string[], drop: Drop): Promise<void> => {
    drop.telling = claims.drop(ids);
    try {
      await drop.telling;
    } finally {
      drop.telling = undefined;
    }
    for (const id of untold(ids, drop)) released.delete(id);
  };
  const tellLater = (ids: readonly string[], drop: Drop): Promise<void> =>
    untilTold(sleep, async () => {
      const remaining = untold(ids, drop);
      if (remaining.length > 0) await tell(remaining, drop);
    });
  return {
    take: (ids) => claimed(released, ids, () => claims.take(ids)),
    async drop(ids) {
      const drop: Drop = {};
      for (const id of ids) released.set(id, drop);
      await tell(ids, drop).catch((error: unknown) => {
        tellLater(ids, drop).catch(() => undefined);
        throw error;
      });
    },
    async live(ids) {
      const live = await claims.live(ids);
      return new Set([...live].filter((id) => !released.has(id)));
    },
  };
}

/** Wraps a journal: a write that claims ids cancels their release. */
export function journalWithReleases(journal: Journal, released: ReleasedClaims): Journal {
  return {
    ...journal,
    reserve: (attempt, caps, along, hold) =>
      claimed(released, idsIn(along), () => journal.reserve(attempt, caps, along, hold)),
    put: (attempt, along) => claimed(released, idsIn(along), () => journal.put(attempt, along)),
  };
}

const idsIn = ({ claim = [] }: Along = {}): readonly string[] => claim;

/** Claims ids after pending releases, because a release that lands later would end the claim. */
function claimed<T>(
  released: ReleasedClaims,
  ids: readonly string[],
  claim: () => Promise<T>,
): Promise<T> {
  const telling = ids.flatMap((id) => released.get(id)?.telling ?? []);
  for (const id of ids) released.delete(id);
  return telling.length === 0 ? claim() : Promise.allSettled(telling).then(claim);
}
