import { ConfigError } from '../../../src/errors.js';
import { lockedTransaction, queryOf, type Database, type Query } from './database.js';
import { functionsOf, OWN_SETTINGS } from './stored-functions.js';
import { lockKey } from './keys.js';
import { statementsOf } from './statements.js';
import type { Tables } from './tables.js';

/** The version of the tables that this code reads and writes. */
export const VERSION = 5;

/** Statements that upgrade tables, by the version of the tables. */
export const UPGRADES: Readonly<Record<string, (tables: Tables) => string>> = {
  '2': (tables) => `drop function "${tables.schema}".reserve; ${asCurrent(tables)}`,
  '3': asCurrent,
  '4': asCurrent,
};

function asCurrent(tables: Tables): string {
  return `${functionsOf(tables)}; ${tallyOf(tables)}; update ${tables.version} set version = ${VERSION}`;
}

/**
 * Makes the tables if they are missing, and upgrades tables of an older version. Rejects with
 * `ConfigError` (`invalid_option`) if a newer version of the package made them.
 */
export async function prepareTables(database: Database, tables: Tables): Promise<void> {
  // Check first, because another user may have made the tables, and this user may lack that right.
  let found = await versionIn(queryOf(database, 'tables'), tables);
  if (found === undefined || found in UPGRADES) {
    const key = lockKey(tables.schema, 'tables');
    found = await lockedTransaction(database, 'tables', key, async (query) => {
      const before = await versionIn(query, tables);
      if (before === undefined) await create(query, tables);
      const upgrade = before === undefined ? undefined : UPGRADES[before]?.(tables);
      if (upgrade !== undefined) await query(upgrade);
      return versionIn(query, tables);
    });
  }
  if (found === String(VERSION)) return;
  throw new ConfigError(
    'invalid_option',
    `The journal's tables in schema ${tables.schema} have version ${found ?? 'none'}, and this copy of exact-change knows version ${VERSION}. Use copies of one version everywhere. Another schema would know none of its payments.`,
    { details: { option: 'schema' } },
  );
}

/** Returns the version of the tables; undefined if there are no tables. */
async function versionIn(query: Query, tables: Tables): Promise<string | undefined> {
  // Not by `to_regclass`: within a transaction it may answer by the names of its begin.
  const text = statementsOf(tables);
  if ((await query(text.hasTables, [tables.schema])).length === 0) return undefined;
  const [row] = await query(text.version);
  return row?.['version'] ?? 'none';
}

async function create(query: Query, tables: Tables): Promise<void> {
  const { schema } = tables;
  // Check first, because even "if not exists" needs the right to create schemas.
  const found = await query(statementsOf(tables).hasSchema, [schema]);
  if (found.length === 0) await query(`create schema "${schema}"`);
  await query(tablesText(tables));
}

/**
 * Returns the trigger function that keeps the sums of `spent`. Writes of an owner that change the
 * sums run one by one: a statement that reserves several attempts locks rows of many hosts, so two
 * such statements could deadlock.
 */
function tallyOf({ schema, spent }: Tables): string {
  return `create or replace function "${schema}".tally() returns trigger language plpgsql ${OWN_SETTINGS} as $tally$
    declare owner text := case tg_op when 'DELETE' then old.wallet || ' ' || old.network else new.wallet || ' ' || new.network end;
    begin
      if tg_op = 'UPDATE' and (floor(old.at / 3600000), old.host, old.pay_to, old.mint, old.units, old.costs)
        is not distinct from (floor(new.at / 3600000), new.host, new.pay_to, new.mint, new.units, new.costs) then
        return null;
      end if;
      perform pg_advisory_xact_lock(hashtextextended('${schema} spent ' || owner, 0));
      if tg_op <> 'INSERT' then
        update ${spent} s set cost = s.cost - u.cost from unnest(old.units, old.costs) as u (unit, cost)
        where s.wallet = old.wallet and s.network = old.network and s.unit = u.unit and s.hour = floor(old.at / 3600000)
          and s.host = old.host and s.pay_to = old.pay_to and s.mint = old.mint;
      end if;
      if tg_op <> 'DELETE' then
        insert into ${spent} as s
        select new.wallet, new.network, floor(new.at / 3600000), new.host, new.bare_host, new.pay_to, new.mint, u.unit, u.cost
        from unnest(new.units, new.costs) as u (unit, cost)
        on conflict (wallet, network, unit, hour, host, pay_to, mint) do update set cost = s.cost + excluded.cost;
      end if;
      return null;
    end
    $tally$`;
}

/**
 * Returns the SQL that makes all tables. `spent` holds sums by unit, hour, host, payee and mint. So
 * a cap adds up hours, and reads single attempts of one hour only. A trigger keeps the sums, so
 * that they are right whatever program writes. Sums are `numeric`: exact, without a bound. Times
 * are `double precision`, as numbers of JavaScript are. Records are JSON in `text`, because `jsonb`
 * would change or refuse some strings.
 */
export function tablesText(tables: Tables): string {
  const { schema, attempts, spent, books, claims, counters, version } = tables;
  return `
    create table ${attempts} (
      seq bigint generated always as identity,
      id text primary key,
      wallet text not null,
      network text not null,
      state text not null,
      keep boolean not null,
      at double precision not null,
      host text not null,
      bare_host text not null,
      pay_to text not null,
      mint text not null,
      units text[] not null,
      costs numeric[] not null check (0 <= all (costs)),
      request text,
      key text,
      record text not null
    );
    create index on ${attempts} (wallet, network, seq);
    create index on ${attempts} (wallet, network, seq) where state in ('reserved', 'abandoned', 'signed');
    create index on ${attempts} (wallet, network, at);
    create index on ${attempts} (wallet, network, request);
    create index on ${attempts} (wallet, network, key) where key is not null;

    create table ${spent} (
      wallet text not null,
      network text not null,
      hour double precision not null,
      host text not null,
      bare_host text not null,
      pay_to text not null,
      mint text not null,
      unit text not null,
      cost numeric not null,
      primary key (wallet, network, unit, hour, host, pay_to, mint)
    ) with (fillfactor = 50);

    ${tallyOf(tables)};
    create trigger tally after insert or update or delete on ${attempts} for each row execute function "${schema}".tally();

    create table ${books} (
      wallet text not null,
      network text not null,
      account text not null,
      book text not null,
      primary key (wallet, network, account)
    );

    create table ${claims} (
      id text not null,
      instance text not null,
      holder bigint not null,
      primary key (id, instance)
    );

    create table ${counters} (
      wallet text not null,
      network text not null,
      name text not null,
      next bigint not null,
      used_at timestamptz not null default now(),
      primary key (wallet, network, name)
    );
    create index on ${counters} (used_at);

    ${functionsOf(tables)}

    create table ${version} (version integer not null);
    insert into ${version} values (${VERSION});
  `;
}
