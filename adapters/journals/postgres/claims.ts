import type { Along, Claims } from '../../../src/journal/types.js';
import type { Database, Query } from './database.js';
import { digest } from './keys.js';
import type { Session } from './session.js';
import { statementsOf } from './statements.js';
import type { Tables } from './tables.js';

/** Claims that live as long as the session of the instance that made them. */
export interface SharedClaims extends Claims {
  readonly any: boolean;
  /**
   * Runs a write that takes or releases claims.
   *
   * @param write - Gets `along` as the stored functions take it. Resolves to whether the write was
   * done; if not, the claims do not stay.
   */
  along<T extends { readonly isDone: boolean }>(
    along: Along,
    write: (along: object) => Promise<T>,
  ): Promise<T>;
  /** Writes the claims of this instance again, because another instance may have deleted them. */
  restore(query: Query, holder: string): Promise<void>;
  clear(database: Database): Promise<void>;
}

/** @param instance - A unique id of this journal instance. */
export function sharedClaims(
  session: Session,
  database: Database,
  tables: Tables,
  instance: string,
): SharedClaims {
  const text = statementsOf(tables);
  const mine = new Set<string>();
  const write = (query: Query, names: readonly string[], holder: string) =>
    query(text.claim, [names, instance, holder]);
  // An id may be any text, and Postgres cannot store every text.
  const name = (id: string) => digest(id);
  const claiming = async <T extends { readonly isDone: boolean }>(
    names: readonly string[],
    work: () => Promise<T>,
  ): Promise<T> => {
    for (const claim of names) mine.add(claim);
    let isDone = false;
    try {
      const result = await work();
      ({ isDone } = result);
      return result;
    } finally {
      if (!isDone) for (const claim of names) mine.delete(claim);
    }
  };
  const holderNow = async () =>
    session.holder ?? (await session.run('claim', (_, holder) => Promise.resolve(holder)));
  return {
    async take(ids) {
      const names = ids.map(name);
      await claiming(names, async () => {
        await session.run('claim', (query, holder) => write(query, names, holder));
        return { isDone: true };
      });
    },
    async drop(ids) {
      const names = ids.map(name);
      for (const claim of names) mine.delete(claim);
      await session.run('unclaim', (query) => query(text.unclaim, [names, instance]));
    },
    along({ claim = [], drop = [], ...rest }, writeAlong) {
      const names = claim.map(name);
      const dropped = drop.map(name);
      return claiming(names, async () => {
        const holder = names.length === 0 ? undefined : await holderNow();
        for (const id of dropped) mine.delete(id);
        return writeAlong({ ...rest, claim: names, drop: dropped, instance, holder });
      });
    },
    async live(ids) {
      const named = new Map(ids.map((id) => [name(id), id]));
      const rows = await database.query('claims', text.liveClaims, [[...named.keys()], instance]);
      return new Set([
        ...ids.filter((id) => mine.has(name(id))),
        ...rows.flatMap((row) => named.get(row['id'] ?? '') ?? []),
      ]);
    },
    get any() {
      return mine.size > 0;
    },
    async restore(query, holder) {
      await write(query, [...mine], holder);
      // This may delete the claims of an instance that lost its connection. That instance writes
      // its claims again once it has a new connection.
      await query(text.endClaims, [instance, [...mine]]);
    },
    async clear(direct) {
      if (mine.size === 0) return;
      await direct.query('unclaim', text.unclaimAll, [instance]);
    },
  };
}
