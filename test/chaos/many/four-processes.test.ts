import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { createClient, type ClientOptions, type EventName } from 'exact-change';
import { postgresJournal } from 'exact-change/journal/postgres';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPostgres, type Postgres } from '../../helpers/postgres.js';
import { programOf } from '../../helpers/program.js';
import type { Bought } from './buy-all.js';
import { CAP, settleMany, startMany } from './many.js';
import { watchLargest } from './watch.js';

/** What each process is told; only what JSON can carry. */
export interface FourTask {
  readonly connectionString: string;
  /** Of a journal in a file instead. */
  readonly path?: string;
  readonly seed: number;
  /** Of so many messages one fails; default 10, Infinity for none. */
  readonly inHow?: number;
  readonly urls: readonly string[];
  readonly options: ClientOptions;
  /** The process is killed at this event. */
  readonly kill?: readonly ['event', EventName];
}

const PROCESSES = 4;
const program = programOf(fileURLToPath(new URL('./four.child.ts', import.meta.url)));

let sandbox: Sandbox;
let postgres: Postgres;
beforeAll(async () => {
  [sandbox, postgres] = await Promise.all([
    createSandbox({ seed: 'many in four processes' }),
    startPostgres(),
  ]);
});
afterAll(() => Promise.all([sandbox.close(), postgres.stop()]));

async function buyElsewhere(task: FourTask): Promise<Bought[]> {
  const child = spawn(process.execPath, [program.path, JSON.stringify(task)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [said, complained] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(complained).toBe('');
  return JSON.parse(said) as Bought[];
}

describe('four processes that share a wallet and a journal in Postgres, of which one in ten messages fails', () => {
  it(
    'pay for each of a thousand calls at most once, never over the cap, and all books agree',
    { timeout: 900_000 },
    async () => {
      const many = await startMany(sandbox);
      const { owner, options, paid, urls } = many;
      const connectionString = await postgres.createDatabase();
      const journal = postgresJournal({ connectionString });
      const inJournal = watchLargest(
        async () => (await journal.used(owner, [CAP], Date.now()))[0] ?? 0n,
      );
      const each = urls.length / PROCESSES;
      const tasks = Array.from({ length: PROCESSES }, (_, process) => ({
        connectionString,
        seed: 1_000 + process,
        urls: urls.slice(process * each, (process + 1) * each),
        options,
      }));
      const bought = (await Promise.all(tasks.map(buyElsewhere))).flat();

      sandbox.controls.node.warp();
      const sound = createClient({ ...options, journal });
      const all = await settleMany(sandbox, many, sound, journal, bought);
      const used = await inJournal.stop();
      // The merchant pays nothing back: what it has in the end is the most that it had.
      expect([await paid(), used.largest <= CAP.limit]).toEqual([all, true]);
      expect(used.looks).toBeGreaterThan(100);
      await sound.close();
      await journal.close();
    },
  );
});
