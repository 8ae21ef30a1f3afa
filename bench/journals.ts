import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../test/helpers/postgres.js';
import type { Client } from './client.child.js';
import { startWorld } from './clients.js';
import { median, paired, sum, type Pair } from './measure.js';
import { start } from './process.js';

const WARM_UP = 40;
const RUNS = 20;
/** Delays of each statement, in turn: so long that a millisecond of the machine hardly counts. */
const [NEAR_MS, FAR_MS] = [40, 240];
const ATTEMPTS = 100_000;
const AT_ONCE = 500;
const PROCESSES = 4;
const EACH = 100;
const ROUNDS = 3;
/** Crowds until V8 compiles hardly more; else the one process has a longer run. */
const CROWDS_BEFORE = 5;
/** Number of payments of a cent that the cap allows: fewer than the processes try. */
const CAP = 120;
const BUDGET = 'budget_exhausted';

/** Measures the serial round trips of a payment to Postgres, and its statements. */
export async function postgres() {
  const [database, { client, quickUrl, end }] = await Promise.all([startPostgres(), startWorld()]);
  const child = await client('ours', { place: { postgres: await database.createDatabase() } });
  const url = `${quickUrl}/postgres`;
  await child.call('batch', url, WARM_UP);
  const trips: number[] = [];
  const statements: number[] = [];
  const measure = async (waitMs: number) => {
    const before = await child.call('asked', waitMs);
    const { ms } = (await child.call('batch', url, 1)).each[0]!;
    const after = await child.call('asked');
    const count = after.statements - before.statements;
    return { ms, count, waitedMs: (after.waitedMs - before.waitedMs) / count };
  };
  while (trips.length < RUNS) {
    const [near, far] = [await measure(NEAR_MS), await measure(FAR_MS)];
    trips.push((far.ms - near.ms) / (far.waitedMs - near.waitedMs));
    statements.push(near.count);
  }
  await Promise.all([end(), database.stop()]);
  // The measurement is precise to a tenth of a trip.
  const rounded = Math.round(median(trips) * 10) / 10;
  return { trips: { ours: rounded }, statements: { ours: sum(statements) / RUNS } };
}

/** Measures the cost of a file journal, and of sharing it between processes. */
export async function file() {
  const folder = await mkdtemp(join(tmpdir(), 'exact-change-bench-'));
  const { world, client, quickUrl, end } = await startWorld();
  const url = `${quickUrl}/file`;
  const place = (name: string) => ({ file: join(folder, name) });

  const wallet = await world.call('wallet', { USDC: '100' });
  const writer = await client('ours', { ...wallet, place: place('large') });
  await writer.call('yesterday');
  const syncs: number[] = [];
  while (syncs.length < RUNS) syncs.push((await writer.call('batch', url, 1)).each[0]!.syncs);
  await writer.call('replay', ATTEMPTS, { atOnce: AT_ONCE });
  await writer.end();
  const reader = start<Client>('client.child.ts');
  const opened = await reader.call('openJournal', place('large'), wallet.address);
  await reader.end();

  /** Measures PROCESSES * EACH payments at once of processes that share a file, after `before`. */
  const shared = async (name: string, processes: number, before: number, options = {}) => {
    const { secretKey } = await world.call('wallet', { USDC: '100' });
    const children = await Promise.all(
      Array.from({ length: processes }, () =>
        client('ours', { secretKey, place: place(name), options }),
      ),
    );
    const count = (PROCESSES * EACH) / processes;
    const crowd = () => Promise.all(children.map((child) => child.call('crowd', url, count)));
    for (let at = 0; at < before; at += 1) await crowd();
    const runs = await crowd();
    await Promise.all(children.map((child) => child.end()));
    const paid = sum(runs.map((run) => run.paid));
    const [refused] = runs.flatMap((run) => run.refused).filter((code) => code !== BUDGET);
    return {
      paid,
      refused,
      rate: (paid * 1_000) / Math.max(...runs.map(({ ms }) => ms)),
    };
  };
  const rates: Pair[] = [];
  let refused: string | undefined;
  while (rates.length < ROUNDS && refused === undefined) {
    const other = (await shared(`one ${rates.length}`, 1, CROWDS_BEFORE)).rate;
    const four = await shared(`four ${rates.length}`, PROCESSES, CROWDS_BEFORE);
    ({ refused } = four);
    rates.push({ ours: four.rate, other });
  }
  const policy = { maxPerDay: (CAP / 100).toFixed(2) };
  const capped = await shared('capped', PROCESSES, 0, { policy });
  await end();
  await rm(folder, { recursive: true });
  const { other } = paired(rates);
  return {
    syncs: { ours: median(syncs) },
    open: { ours: opened / 1_000 },
    rate: refused === undefined ? paired(rates) : { ours: 'refused', other, note: refused },
    caps: {
      ours: capped.paid === CAP ? 'exact' : capped.refused === undefined ? 'missed' : 'refused',
      note: `${capped.paid} paid of ${CAP}`,
    },
  };
}
