// One process of a fleet: does its task on the journal in Postgres, tells of it in lines of JSON,
// and is the parent's to end.
import { createInterface } from 'node:readline';
import { postgresJournal } from 'exact-change/journal/postgres';
import { attemptOf, dayCap, NOW } from '../helpers/attempts.js';
import { seenSince } from '../helpers/seen-since.js';

type Task =
  | {
      readonly what: 'race';
      readonly name: string;
      readonly reserves: number;
      readonly limit: string;
      readonly keys: number;
      readonly takes: number;
    }
  | { readonly what: 'hold'; readonly id: string }
  | { readonly what: 'use'; readonly close: boolean };

const [address = '', text = ''] = process.argv.slice(2);
// Written by the parent.
const task = JSON.parse(text) as Task;
const owner = { wallet: 'wallet', network: 'network' };
const journal = postgresJournal({ connectionString: address });
const { ledger, locks, claims, next } = journal.coordination(owner);
const tell = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`);

if (task.what === 'race') {
  const { name, reserves, limit, keys, takes } = task;
  const cap = dayCap(BigInt(limit));
  await journal.used(owner, [], NOW);
  tell('ready');
  const lines = createInterface(process.stdin);
  await new Promise((resolve) => lines.once('line', resolve));
  const count = <T>(times: number, work: (index: number) => Promise<T>) =>
    Promise.all(Array.from({ length: times }, (_, index) => work(index)));
  const results = await count(reserves, () => journal.reserve(attemptOf(), [cap]));
  const winners = await count(keys, async (index) => {
    const attempt = attemptOf({ idempotencyKey: `key ${index}`, microUsd: '0' });
    const result = await journal.reserve(attempt, []);
    return result !== undefined && 'taken' in result ? result.taken.id : attempt.id;
  });
  const taken = await count(takes, (index) =>
    ledger.take('account', `${name} ${index}`, 10n, seenSince(0)),
  );
  const numbers = await count(20, () => next('blockhash'));
  tell({
    reserved: results.filter((one) => one === undefined).length,
    winners,
    taken: taken.filter((one) => one).length,
    numbers,
  });
  lines.close();
  process.stdin.destroy();
  await journal.close();
} else if (task.what === 'hold') {
  await journal.reserve(attemptOf({ id: task.id, idempotencyKey: 'key' }), [dayCap(10_000n)]);
  await claims.take([task.id]);
  await locks.hold(['swap'], () => {
    tell('holding');
    // Until it is killed: a promise alone would not keep the process.
    return new Promise((resolve) => setTimeout(resolve, 600_000));
  });
} else {
  await journal.reserve(attemptOf(), []);
  await claims.take(['one']);
  await locks.hold(['swap'], async () => tell(await next('blockhash')));
  if (task.close) await journal.close();
}
