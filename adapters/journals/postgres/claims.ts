import type { Along, Claims } from '../../../src/journal/types.js';
import type { Database, Query } from './database.js';
import { digest } from './keys.js';
import { ignored } from './pool.js';
import type { Line, Session } from './session.js';
import { statementsOf } from './statements.js';
import type { Tables } from './tables.js';

/** Claims that live as long as the session of the instance that made them. */
export interface SharedClaims extends Claims {
  readonly any: boolean;
  /**
   * A write with what goes along with it.
   *
   * @param write - Is given that as the database takes it. Resolves to whether it happened.
   */
  along<T extends { readonly isDone: boolean }>(
    along: Along,
    write: (along: object) => Promise<T>,
  ): Promise<T>;
  /** Puts the claims of this instance under a new connection. */
  restore(query: Query, line: Line): Promise<void>;
  /** Takes back all that this instance claims. */
  clear(database: Database): Promise<void>;
}

/** @param instance - Unlike that of any other instance. */
export function sharedClaims(
  session: Session,
  database: Database,
  tables: Tables,
  instance: string,
): SharedClaims {
  const text = statementsOf(tables);
  const mine = new Set<string>();
  const write = (query: Query, names: readonly string[], { holder }: Line) =>
    query(text.claim, [names, instance, holder]);
  // Any text can be an id, and only some can be stored.
  const name = (id: string) => digest(id);
  const claiming = async <T extends { readonly isDone: boolean }>(
    names: readonly string[],
    work: () => Promise<T>,
  ): Promise<T> => {
    for (const one of names) mine.add(one);
    let isDone = false;
    try {
      const result = await work();
      ({ isDone } = result);
      return result;
    } finally {
      if (!isDone) for (const one of names) mine.delete(one);
    }
  };
  const holderNow = async () =>
    session.holder ?? (await session.run('claim', (_, { holder }) => Promise.resolve(holder)));
  const again = (names: readonly string[]) =>
    session.run('claim', (query, line) => {
      const still = names.filter((one) => mine.has(one));
      return write(query, still, line);
    });
  return {
    async take(ids) {
      const names = ids.map(name);
      await claiming(names, async () => {
        await session.run('claim', (query, line) => write(query, names, line));
        return { isDone: true };
      });
    },
    async drop(ids) {
      const names = ids.map(name);
      for (const one of names) mine.delete(one);
      await session.run('unclaim', (query) => query(text.unclaim, [names, instance]));
    },
    along({ claim = [], drop = [], ...rest }, writeAlong) {
      const names = claim.map(name);
      const dropped = drop.map(name);
      return claiming(names, async () => {
        const holder = names.length === 0 ? undefined : await holderNow();
        for (const one of dropped) mine.delete(one);
        const result = await writeAlong({ ...rest, claim: names, drop: dropped, instance, holder });
        // Another connection may have put them in its own name meanwhile, which this undid.
        if (session.holder !== holder && names.length > 0) void again(names).catch(ignored);
        return result;
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
    async restore(query, line) {
      await write(query, [...mine], line);
      // An instance that lost its connection and has not got another one yet writes its claims
      // again, as above.
      await query(text.endClaims, [instance, [...mine]]);
    },
    async clear(direct) {
      if (mine.size === 0) return;
      await direct.query('unclaim', text.unclaimAll, [instance]);
    },
  };
}
