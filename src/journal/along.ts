import type { Along, Coordination, Journal } from './types.js';

/**
 * A journal without coordination, and the coordination of its process: what goes along with a write
 * is done there, right before the write or after it.
 */
export function alongWith(
  journal: Journal,
  { claims, ledger }: Pick<Coordination, 'claims' | 'ledger'>,
): Journal {
  const write = async <T>(
    id: string,
    { claim = [], drop = [], spend, free = [] }: Along,
    work: () => Promise<T>,
    isDone: (result: T) => boolean,
  ): Promise<T> => {
    if (claim.length > 0) await claims.take(claim);
    // Ended twice is ended, and a hold that is never ended would keep its tokens for ever.
    if (spend !== undefined) await ledger.spend(spend.account, id, spend.slot);
    for (const account of free) await ledger.release(account, id);
    const result = await work();
    const left = isDone(result) ? drop : claim;
    if (left.length > 0) await claims.drop(left);
    return result;
  };
  return {
    ...journal,
    reserve: (attempt, caps, along = {}) =>
      write(
        attempt.id,
        along,
        () => journal.reserve(attempt, caps),
        (refused) => refused === undefined,
      ),
    put: (attempt, along = {}) =>
      write(
        attempt.id,
        along,
        () => journal.put(attempt),
        () => true,
      ),
    release: (id, along = {}) =>
      write(
        id,
        along,
        () => journal.release(id),
        () => true,
      ),
  };
}
