// One process that shares a database with others: writes or delivers what it is told to, tells of
// it in lines of JSON, and is the parent's to end.
import { createInterface } from 'node:readline';
import { postgresJournal } from 'exact-change/journal/postgres';
import pg from 'pg';
import { withOutbox } from '../contract/outbox-contract.js';
import { attemptOf } from '../helpers/attempts.js';

type Task =
  | { readonly what: 'start' }
  | { readonly what: 'deliver' }
  | { readonly what: 'take'; readonly leaseMs: number; readonly now: number }
  | { readonly what: 'write' }
  | { readonly what: 'stop'; readonly id: string; readonly when: 'before' | 'after' }
  | { readonly what: 'use'; readonly close: boolean };

const [address = '', text = ''] = process.argv.slice(2);
// Written by the parent.
const task = JSON.parse(text) as Task;
const tell = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`);
const forever = () => new Promise<never>((_, reject) => setTimeout(reject, 600_000));
const word = async () => {
  const lines = createInterface(process.stdin);
  await new Promise((resolve) => lines.once('line', resolve));
  lines.close();
  process.stdin.destroy();
};

if (task.what === 'stop') {
  // Stands still at the end of a transaction, one step before it is committed or one after.
  const pool = new pg.Pool({ connectionString: address });
  const journal = postgresJournal({
    outbox: true,
    pool: {
      on: (event, listener) => pool.on(event, listener),
      removeListener: (event, listener) => pool.removeListener(event, listener),
      async connect() {
        const client = await pool.connect();
        const query = client.query.bind(client);
        return Object.assign(client, {
          async query(statement: string, values?: unknown[]) {
            if (statement !== 'commit' || !armed) return query(statement, values);
            if (task.when === 'after') await query(statement, values);
            tell('standing');
            return forever();
          },
        });
      },
    },
  });
  let armed = false;
  const attempt = attemptOf({ id: task.id });
  await journal.reserve(attempt, []);
  armed = true;
  await journal.put({ ...attempt, state: 'abandoned' });
} else {
  const journal = withOutbox(postgresJournal({ connectionString: address, outbox: true }));
  const { outbox } = journal;
  if (task.what === 'start') {
    tell('ready');
    await word();
    await journal.release('nobody');
    tell(await outbox.take({ limit: 1, leaseMs: 1, now: Date.now() }));
    await journal.close();
  } else if (task.what === 'deliver') {
    const some = () => outbox.take({ limit: 50, leaseMs: 60_000, now: Date.now() });
    const ended: string[] = [];
    let jobs = await some();
    tell('ready');
    await word();
    while (jobs.length > 0) {
      await Promise.all(jobs.map((job) => outbox.finish(job, [])));
      ended.push(...jobs.map(({ id }) => id));
      jobs = await some();
    }
    tell(ended);
    await journal.close();
  } else if (task.what === 'take') {
    tell(await outbox.take({ limit: 10, leaseMs: task.leaseMs, now: task.now }));
    await forever();
  } else if (task.what === 'write') {
    for (;;) {
      const attempts = Array.from({ length: 8 }, () => attemptOf());
      await Promise.all(
        attempts.map(async (attempt) => {
          await journal.reserve(attempt, []);
          await journal.put({ ...attempt, state: 'abandoned' });
          tell(attempt.id);
        }),
      );
    }
  } else {
    const attempt = attemptOf();
    await journal.reserve(attempt, []);
    let calls = 0;
    outbox.onAdded(() => (calls += 1));
    await journal.release(attempt.id);
    const [job] = await outbox.take({ limit: 1, leaseMs: 60_000, now: Date.now() });
    if (job !== undefined) await outbox.finish(job, []);
    tell(calls > 0);
    if (task.close) await journal.close();
  }
}
