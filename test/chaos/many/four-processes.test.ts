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

/** The task of each process, as JSON. */
export interface FourTask {
  readonly connectionString: string;
  /** Path of a file journal, which replaces Postgres. */
  readonly path?: string;
  readonly seed: number;
  /** One of so many messages fails; default 10, Infinity for no faults. */
  readonly inHow?: number;
  readonly urls: readonly string[];
  readonly options: ClientOptions;
  /** The event at which the process is killed. */
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
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(stderr).toBe('');
  return JSON.parse(stdout) as Bought[];
}

describe('four processes with one wallet and journal that lose a tenth of their messages', () => {
  it(
    'pay at most once for each of a thousand calls, stay within the cap, and agree in all books',
    { timeout: 900_000 },
    async () => {
      const many = await startMany(sandbox);
      const { owner, options, paid, urls } = many;
      const connectionString = await postgres.createDatabase();
      // Beside four busy processes a query may take long.
      const journal = postgresJournal({ connectionString, timeoutMs: 60_000 });
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
      const total = await settleMany(sandbox, many, sound, journal, bought);
      const used = await inJournal.stop();
      // The merchant pays nothing back, so its final balance is its largest.
      expect([await paid(), used.largest <= CAP.limit]).toEqual([total, true]);
      expect(used.looks).toBeGreaterThan(50);
      await sound.close();
      await journal.close();
    },
  );
});
