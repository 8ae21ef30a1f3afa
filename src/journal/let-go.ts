import type { Along, Claims, Journal } from './types.js';

/** A drop of claims, of which the journal may not know yet. */
export interface Drop {
  /** It is being told. */
  telling?: Promise<void> | undefined;
}

/** What this process has let go of: each claim by its last drop, for all payers of a wallet. */
export type LetGo = Map<string, Drop>;

/** Waits without keeping the process alive; rejects once there is nothing to wait for any more. */
type Rest = (ms: number) => Promise<void>;

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/**
 * Claims of a journal, and what this process knows of its own: one that it has let go is over, also
 * if the journal could not be told. A repeated call would take that for a call still at work, and
 * pay beside it. The journal is told again in the background, for other processes.
 */
export function claimsLetGo(claims: Claims, letGo: LetGo, rest: Rest): Claims {
  // One that was claimed and dropped anew meanwhile is not told by what is told of this drop.
  const untold = (ids: readonly string[], drop: Drop) => ids.filter((id) => letGo.get(id) === drop);
  const tell = async (ids: readonly string[], drop: Drop): Promise<void> => {
    drop.telling = claims.drop(ids);
    try {
      await drop.telling;
    } finally {
      drop.telling = undefined;
    }
    for (const id of untold(ids, drop)) letGo.delete(id);
  };
  const tellLater = async (ids: readonly string[], drop: Drop): Promise<void> => {
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      await rest(wait);
      const left = untold(ids, drop);
      if (left.length === 0) return;
      await tell(left, drop).catch(() => undefined);
    }
  };
  return {
    take: (ids) => claimed(letGo, ids, () => claims.take(ids)),
    async drop(ids) {
      const drop: Drop = {};
      for (const id of ids) letGo.set(id, drop);
      await tell(ids, drop).catch((error: unknown) => {
        tellLater(ids, drop).catch(() => undefined);
        throw error;
      });
    },
    async live(ids) {
      const live = await claims.live(ids);
      return new Set([...live].filter((id) => !letGo.has(id)));
    },
  };
}

/** The same journal, for what is claimed along with its writes. */
export function claimedAlong(journal: Journal, letGo: LetGo): Journal {
  return {
    ...journal,
    reserve: (attempt, caps, along, hold) =>
      claimed(letGo, namesIn(along), () => journal.reserve(attempt, caps, along, hold)),
    put: (attempt, along) => claimed(letGo, namesIn(along), () => journal.put(attempt, along)),
  };
}

const namesIn = ({ claim = [] }: Along = {}): readonly string[] => claim;

/** Claims anew, after drops that are on their way: one that lands later would end this claim. */
function claimed<T>(letGo: LetGo, ids: readonly string[], claim: () => Promise<T>): Promise<T> {
  const telling = ids.flatMap((id) => letGo.get(id)?.telling ?? []);
  for (const id of ids) letGo.delete(id);
  return telling.length === 0 ? claim() : Promise.allSettled(telling).then(claim);
}
