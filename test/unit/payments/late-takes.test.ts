import { memoryJournal, type Coordination } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { createCoordination, withCoordination } from '../../../src/journal/registry.js';
import type { Journal } from '../../../src/journal/types.js';
import { timedJournal } from '../../../src/payments/journal-timeouts.js';
import { attemptOf, listOf } from '../../helpers/attempts.js';
import { seenSince } from '../../helpers/seen-since.js';

const OWNER = { wallet: 'wallet', network: 'network' };
const ACCOUNT = 'account';
const timer = { now: () => 0, onStep: () => undefined };

/** A journal that delays holds and records until `land` is called. */
function slow() {
  const inner = createCoordination();
  const journal = withCoordination(memoryJournal(), inner);
  let land = (): void => undefined;
  const landing = new Promise<void>((resolve) => (land = resolve));
  const { ledger } = inner;
  const coordination: Coordination = {
    ...inner,
    ledger: {
      ...ledger,
      take: async (...args) => {
        await landing;
        return ledger.take(...args);
      },
      hold: async (...given) => {
        await landing;
        return ledger.hold(...given);
      },
    },
  };
  const slowJournal: Journal = {
    ...journal,
    coordination: () => coordination,
    reserve: async (...args) => {
      await landing;
      return journal.reserve(...args);
    },
  };
  const timed = timedJournal(slowJournal, OWNER, 60_000, timer);
  if (timed.coordination === undefined) throw new Error('The journal has no coordination.');
  const { claims } = inner;
  const another = () => timedJournal(slowJournal, OWNER, 60_000, timer);
  return { ...timed, shared: timed.coordination, another, ledger, claims, inner: journal, land };
}

describe('a hold or record that lands after its attempt was given up', () => {
  const left = { account: ACCOUNT, slot: 1 };
  const attempt = attemptOf({ ...OWNER });
  const { id } = attempt;
  type Timed = Pick<ReturnType<typeof slow>, 'journal' | 'shared'>;
  it.each<[string, (by: Timed) => Promise<void>]>([
    ['journal.release', ({ journal }) => journal.release(id, { free: [ACCOUNT] })],
    [
      'journal.put of an attempt that paid nothing',
      ({ journal }) => journal.put({ ...attempt, state: 'abandoned' }, { free: [ACCOUNT] }),
    ],
    [
      'journal.put of an attempt that paid',
      ({ journal }) => journal.put({ ...attempt, state: 'abandoned' }, { spend: left }),
    ],
    ['ledger.release', ({ shared }) => shared.ledger.release(ACCOUNT, id)],
    ['ledger.spend', ({ shared }) => shared.ledger.spend(ACCOUNT, id, left.slot)],
  ])('holds no tokens after %s', async (_, end) => {
    const { journal, shared, ledger, inner, land } = slow();
    await inner.reserve(attempt, []);
    await ledger.see(ACCOUNT, { amount: 5n, at: 0 });
    const taking = shared.ledger.take(ACCOUNT, id, 5n, seenSince(0));
    await end({ journal, shared });
    land();
    expect(await taking).toBeDefined();
    await new Promise((resolve) => setImmediate(resolve));
    expect(await ledger.held(ACCOUNT)).toBe(0n);
  });

  it('leaves no balance that may lack the spent amount or not', async () => {
    const { shared, ledger, land } = slow();
    await ledger.see(ACCOUNT, { amount: 5n, at: 0 });
    const holding = shared.ledger.hold(ACCOUNT, id, 5n);
    await shared.ledger.spend(ACCOUNT, id, left.slot);
    land();
    await holding;
    await new Promise((resolve) => setImmediate(resolve));
    expect(await ledger.available(ACCOUNT, seenSince(0))).toBeUndefined();
  });

  it('holds no tokens if another client of the process ended the attempt meanwhile', async () => {
    const { shared, another, ledger, inner, land } = slow();
    const attempt = attemptOf({ ...OWNER });
    await inner.reserve(attempt, []);
    const holding = shared.ledger.hold(ACCOUNT, attempt.id, 5n);
    await another().journal.put({ ...attempt, state: 'abandoned' }, { free: [ACCOUNT] });
    land();
    await holding;
    await new Promise((resolve) => setImmediate(resolve));
    expect(await ledger.held(ACCOUNT)).toBe(0n);
  });

  it('leaves neither a record nor a claim after a release', async () => {
    const { journal, claims, inner, land } = slow();
    const attempt = attemptOf({ ...OWNER });
    const { id } = attempt;
    const reserving = journal.reserve(attempt, [], { claim: [id] });
    await journal.release(id, { drop: [id] });
    land();
    await reserving;
    await new Promise((resolve) => setImmediate(resolve));
    expect(await listOf(inner.attempts(OWNER))).toEqual([]);
    expect(await claims.live([id])).toEqual(new Set());
  });

  it('leaves no claim after its claim was dropped, though the record may stay', async () => {
    const { journal, shared, claims, land } = slow();
    const attempt = attemptOf({ ...OWNER });
    const { id } = attempt;
    const reserving = journal.reserve(attempt, [], { claim: [id] });
    await shared.claims.drop([id]);
    land();
    await reserving;
    await new Promise((resolve) => setImmediate(resolve));
    expect(await claims.live([id])).toEqual(new Set());
  });
});
