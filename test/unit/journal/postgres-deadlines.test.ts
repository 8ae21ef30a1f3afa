import { EventEmitter } from 'node:events';
import { postgresJournal } from 'exact-change/journal/postgres';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { attemptOf, NOW } from '../../helpers/attempts.js';
import { failureOf } from '../../helpers/payer.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const TIMEOUT_MS = 1_000;

/** Returns a journal over a database that answers each statement after some time. */
function journalOver(answer: (text: string) => { readonly ms: number; readonly rows?: object[] }) {
  const client = {
    on: () => undefined,
    removeListener: () => undefined,
    release: () => undefined,
    query: (text: string) => {
      const { ms, rows = [] } = answer(text);
      return new Promise((resolve) => setTimeout(() => resolve({ rows }), ms));
    },
  };
  const pool = { ...client, connect: () => Promise.resolve(client) };
  return postgresJournal({ pool, timeoutMs: TIMEOUT_MS });
}

it('ends the first call in time while each statement for the tables is in time', async () => {
  const journal = journalOver(() => ({ ms: 0.6 * TIMEOUT_MS }));
  let isOver = false;
  const call = failureOf(
    journal.used({ wallet: 'wallet', network: 'network' }, [], NOW),
    'journal_unavailable',
  ).finally(() => (isOver = true));
  await vi.advanceTimersByTimeAsync(TIMEOUT_MS);
  expect(isOver).toBe(true);
  await call;
  await vi.advanceTimersByTimeAsync(100 * TIMEOUT_MS);
});

it('ends a reservation in time if the statements before it take long', async () => {
  const journal = journalOver((text) => {
    if (text.includes('tablename')) return { ms: 0, rows: [{ tablename: 'version' }] };
    if (text.includes('max(version)')) return { ms: 0, rows: [{ version: '5' }] };
    return { ms: text.includes('.reserve(') ? 0.9 * TIMEOUT_MS : 0 };
  });
  let refused = 0;
  const reserve = () => journal.reserve(attemptOf(), []).catch(() => void (refused += 1));
  const calls = Array.from({ length: 100 }, reserve);
  await vi.advanceTimersByTimeAsync(TIMEOUT_MS);
  // The first has its answer, and the second statement has 32 of them.
  expect(refused).toBe(67);
  await vi.advanceTimersByTimeAsync(100 * TIMEOUT_MS);
  await Promise.all(calls);
  expect(refused).toBe(67);
});

it('opens another connection after one that broke right behind its last setup answer', async () => {
  const clients: EventEmitter[] = [];
  let breaks = 1;
  const connect = async () => {
    let isBroken = false;
    const query = async (text: string, values: unknown[] = []) => {
      if (isBroken) throw new Error('Connection terminated unexpectedly');
      if (text.includes('tablename')) return { rows: [{ tablename: 'version' }] };
      if (text.includes('max(version)')) return { rows: [{ version: '5' }] };
      if (text.includes('pg_notify')) {
        const [channel, payload] = values;
        for (const other of clients) other.emit('notification', { channel, payload });
        return { rows: [{ pid: '2' }] };
      }
      if (breaks > 0 && text.includes('holder not in')) {
        breaks -= 1;
        isBroken = true;
        client.emit('error', new Error('terminating connection'));
      }
      return { rows: [{ pid: '1' }] };
    };
    const client = Object.assign(new EventEmitter(), { query, release: () => undefined });
    clients.push(client);
    return client;
  };
  const pool = Object.assign(new EventEmitter(), { connect });
  const journal = postgresJournal({ pool, timeoutMs: TIMEOUT_MS });
  const { claims } = journal.coordination({ wallet: 'wallet', network: 'network' });
  await failureOf(claims.take(['a']), 'journal_unavailable');
  await claims.take(['a']);
  await journal.close();
});
