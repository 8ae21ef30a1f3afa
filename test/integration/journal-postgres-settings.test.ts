import { postgresJournal, type PostgresJournal } from 'exact-change/journal/postgres';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { attemptOf, dayCap, fullAttemptOf, listOf, NOW } from '../helpers/attempts.js';
import { createDatabase } from '../helpers/database.js';
import { failureOf } from '../helpers/payer.js';
import { withClient } from '../helpers/postgres.js';
import { seenSince } from '../helpers/seen-since.js';

const owner = { wallet: 'wallet', network: 'network' };

let address: string;
let journal: PostgresJournal;

beforeEach(async () => {
  address = await createDatabase();
});
afterEach(() => journal.close());

/** Opens a journal whose tables exist in a database with settings of its own. */
async function openWith(...settings: readonly string[]): Promise<void> {
  const maker = postgresJournal({ connectionString: address });
  await maker.used(owner, [], NOW);
  await maker.close();
  await change(...settings.map((setting) => `alter database ${nameOf()} set ${setting}`));
  journal = postgresJournal({ connectionString: address });
}

const nameOf = () => new URL(address).pathname.slice(1);
const change = (...texts: readonly string[]) =>
  withClient(address, async (client) => {
    for (const text of texts) await client.query(text);
  });

describe('a session with which caps would count nothing', () => {
  it.each(['array_nulls = off', 'session_replication_role = replica'])(
    'refuses each write: %s',
    async (setting) => {
      await openWith(setting);
      const attempt = attemptOf();
      const refused = await failureOf(journal.reserve(attempt, []), 'journal_unavailable');
      expect(refused).toMatchObject({ funds: 'untouched' });
      expect(String(refused.cause)).toContain(setting.split(' ')[0]);
      expect(await listOf(journal.attempts(owner))).toEqual([]);
    },
  );

  it('refuses a change of an attempt of which the sums would not hear', async () => {
    await openWith();
    const attempt = attemptOf();
    await journal.reserve(attempt, []);
    await journal.close();
    await change(`alter database ${nameOf()} set session_replication_role = replica`);
    journal = postgresJournal({ connectionString: address });
    const dearer = { ...attempt, microUsd: '20000' };
    for (const call of [
      () => journal.put({ ...attempt, state: 'signed' }),
      () => journal.raise(dearer, []),
      () => journal.release(attempt.id),
    ])
      expect(String((await failureOf(call(), 'journal_unavailable')).cause)).toContain('triggers');
    expect(await listOf(journal.attempts(owner))).toEqual([attempt]);
  });

  it('counts what a raise takes if only the lists of its caps would lose their nulls', async () => {
    await openWith();
    const attempts = [attemptOf(), attemptOf()];
    for (const attempt of attempts) await journal.reserve(attempt, []);
    await journal.close();
    await change(`alter database ${nameOf()} set array_nulls = off`);
    journal = postgresJournal({ connectionString: address });
    const raise = { ...attempts[0]!, microUsd: '20000' };
    expect(await journal.raise(raise, [dayCap(25_000n)])).toMatchObject({ used: 10_000n });
  });
});

describe('a database with functions and operators of the names that Postgres has', () => {
  it.each([
    [
      'before those of Postgres',
      "create function app.floor(float8) returns float8 language sql as 'select 0::float8'",
      'search_path = app, pg_catalog',
    ],
    [
      'for other types',
      `create function app.div(float8, int) returns float8 language sql as 'select 0::float8';
       create operator app./ (leftarg = float8, rightarg = int, procedure = app.div)`,
      'search_path = app',
    ],
    [
      'before those of Postgres, for texts',
      `create function app.differ(text, text) returns boolean language sql as 'select false';
       create operator app.= (leftarg = text, rightarg = text, procedure = app.differ)`,
      'search_path = app, pg_catalog',
    ],
  ])('reserves and raises as much as fits into a cap: %s', async (_, made, path) => {
    await change('create schema app', made);
    await openWith(path);
    const attempts = Array.from({ length: 5 }, () => attemptOf());
    const cap = dayCap(30_000n);
    const blocks = await Promise.all(attempts.map((attempt) => journal.reserve(attempt, [cap])));
    expect(blocks.filter((block) => block === undefined)).toHaveLength(3);
    const raised = { ...attempts[0]!, microUsd: '20000' };
    expect(await journal.raise(raised, [cap])).toMatchObject({ used: 20_000n });
  });
});

it('keeps texts of sellers and callers in a database that has no letters for them', async () => {
  await change(`create database ${nameOf()}_latin encoding latin1 template template0`);
  address = `${address}_latin`;
  await openWith();
  const attempt = attemptOf({ idempotencyKey: 'é 汉 🪙 \ud800', doubt: 'payment_rejected' });
  await journal.reserve(attempt, []);
  const { receipt } = fullAttemptOf();
  const settlement = {
    success: false,
    transaction: '',
    network: '',
    errorReason: 'é 汉 🪙 \ud800',
  };
  const signed = { ...attempt, state: 'signed' as const, receipt: { ...receipt!, settlement } };
  await journal.put(signed);
  expect(await journal.similar(owner, '', 'é 汉 🪙 \ud800')).toEqual([signed]);
});

it('keeps the slot of a payment in a database that shortens numbers', async () => {
  await openWith('extra_float_digits = -15');
  const attempt = { ...attemptOf(), state: 'signed' as const };
  const { ledger } = journal.coordination(owner);
  await ledger.see('account', { amount: 50_000n, at: NOW, slot: 312_345_678 });
  await journal.reserve(attempt, [], {}, { account: 'account', fresh: seenSince(0), unless: 's' });
  const spend = { account: 'account', slot: 312_345_699 };
  await journal.put({ ...attempt, state: 'settled' }, { spend });
  // A node that has not seen the payment yet.
  await ledger.see('account', { amount: 49_999n, at: NOW, slot: 312_345_698 });
  expect(await ledger.available('account', seenSince(0))).toBe(39_999n);
});
