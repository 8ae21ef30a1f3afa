// A process that shares a journal with other processes. It does its task, reports in lines of JSON,
// and its parent ends it.
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileJournal } from 'exact-change/journal/file';
import { postgresJournal } from 'exact-change/journal/postgres';
import type { Attempt } from '../../src/journal/types.js';
import { attemptOf, dayCap, fullAttemptOf, NOW } from '../helpers/attempts.js';
import { seenSince } from '../helpers/seen-since.js';
import type { Task } from './processes-contract.js';

const STDOUT = 1;

const [address = '', text = ''] = process.argv.slice(2);
// The parent writes the task.
const task = JSON.parse(text) as Task;
const owner = { wallet: 'wallet', network: 'network' };
const journal = address.startsWith('postgres')
  ? postgresJournal({ connectionString: address })
  : fileJournal(address);
const { ledger, locks, claims, next } = journal.coordination(owner);
// Written at once, so a message that was sent stays true if the process is killed next.
const tell = (line: unknown) => void writeSync(STDOUT, `${JSON.stringify(line)}\n`);

if (task.what === 'race') {
  const { first, reserves, limit, keys, takes } = task;
  const cap = dayCap(BigInt(limit));
  await journal.used(owner, [], NOW);
  const lines = createInterface(process.stdin);
  const go = (message: string) => {
    tell(message);
    return new Promise((resolve) => lines.once('line', resolve));
  };
  await go('ready');
  const count = <T>(times: number, work: (index: number) => Promise<T>) =>
    Promise.all(Array.from({ length: times }, (_, index) => work(index)));
  const reserve = () => journal.reserve(attemptOf(), [cap]);
  const early = await count(first, reserve);
  await go('begun');
  const results = [...early, ...(await count(reserves - first, reserve))];
  const winners = await count(keys, async (index) => {
    const attempt = attemptOf({ idempotencyKey: `key ${index}`, microUsd: '0' });
    const result = await journal.reserve(attempt, []);
    return result !== undefined && 'taken' in result ? result.taken.id : attempt.id;
  });
  const taken = await count(takes, async () => {
    const attempt = attemptOf({ microUsd: '0' });
    await journal.reserve(attempt, []);
    return ledger.take('account', attempt.id, 10n, seenSince(0));
  });
  const numbers = await count(20, () => next('blockhash'));
  tell({
    reserved: results.filter((result) => result === undefined).length,
    winners,
    taken: taken.filter((amount) => amount).length,
    numbers,
  });
  lines.close();
  process.stdin.destroy();
  await journal.close();
} else if (task.what === 'pay') {
  const cap = dayCap(BigInt(task.limit));
  const settle = (attempt: Attempt) =>
    journal.put(
      { ...attempt, state: 'settled', delivered: true },
      { drop: [attempt.id], spend: { account: 'account', slot: 9 } },
    );
  const takeUp = async () => {
    for await (const attempt of journal.attempts(owner, { state: 'reserved' }))
      if (!(await claims.live([attempt.id])).has(attempt.id))
        await journal.release(attempt.id, { free: ['account'] });
    for await (const attempt of journal.attempts(owner, { state: 'signed' }))
      if (!(await claims.live([attempt.id])).has(attempt.id)) await settle(attempt);
  };
  await takeUp();
  tell('ready');
  const hold = { account: 'account', fresh: seenSince(0), unless: 'swap' };
  for (let isFull = false; !isFull;) {
    const attempt = attemptOf({ at: NOW });
    const refused = await journal.reserve(attempt, [cap], { claim: [attempt.id] }, hold);
    if (refused !== undefined && 'before' in refused) {
      const { payment, receipt } = fullAttemptOf();
      const signed: Attempt = { ...attempt, state: 'signed', payment: payment!, receipt: receipt! };
      await journal.put(signed);
      // The payment leaves now.
      tell(attempt.id);
      await settle(signed);
    } else if (refused === undefined) await journal.release(attempt.id, { drop: [attempt.id] });
    else isFull = true;
  }
  await takeUp();
  await journal.close();
} else if (task.what === 'hold') {
  await journal.reserve(attemptOf({ id: task.id, idempotencyKey: 'key' }), [dayCap(10_000n)]);
  await claims.take([task.id]);
  await locks.hold(['swap'], () => {
    tell('holding');
    // The timer keeps the process alive until it is killed; a promise alone would not.
    return new Promise((resolve) => setTimeout(resolve, 600_000));
  });
} else {
  await journal.reserve(attemptOf(), []);
  await claims.take(['one']);
  await locks.hold(['swap'], async () => tell(await next('blockhash')));
  if (task.close) await journal.close();
}
