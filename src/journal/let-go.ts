import type { Along, Claims, Journal } from './types.js';

/** Waits without keeping the process alive; rejects once there is nothing to wait for any more. */
type Rest = (ms: number) => Promise<void>;

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/**
 * Claims of a journal, and what this process knows of its own: one that it has let go is over, also
 * if the journal could not be told. A repeated call would take that for a call still at work, and
 * pay beside it. The journal is told again in the background, for other processes.
 *
 * @param letGo - What the journal may not know of yet, for all payers of a wallet in this process.
 */
export function claimsLetGo(claims: Claims, letGo: Set<string>, rest: Rest): Claims {
  const tell = async (ids: readonly string[]): Promise<void> => {
    await claims.drop(ids);
    for (const id of ids) letGo.delete(id);
  };
  const untold = (ids: readonly string[]) => ids.filter((id) => letGo.has(id));
  const tellLater = async (ids: readonly string[]): Promise<void> => {
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      await rest(wait);
      const left = untold(ids);
      if (left.length === 0) return;
      await tell(left).catch(() => undefined);
    }
  };
  return {
    take(ids) {
      for (const id of ids) letGo.delete(id);
      return claims.take(ids);
    },
    async drop(ids) {
      for (const id of ids) letGo.add(id);
      await tell(ids).catch((error: unknown) => {
        tellLater(ids).catch(() => undefined);
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
export function claimedAlong(journal: Journal, letGo: Set<string>): Journal {
  const claimed = ({ claim = [] }: Along = {}) => claim.forEach((id) => letGo.delete(id));
  return {
    ...journal,
    reserve(attempt, caps, along, hold) {
      claimed(along);
      return journal.reserve(attempt, caps, along, hold);
    },
    put(attempt, along) {
      claimed(along);
      return journal.put(attempt, along);
    },
  };
}
