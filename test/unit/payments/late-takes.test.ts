import { memoryJournal, type Coordination } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { createCoordination, withCoordination } from '../../../src/journal/registry.js';
import type { Journal } from '../../../src/journal/types.js';
import { timedAs } from './timed-as.js';
import { attemptOf, listOf } from '../../helpers/attempts.js';
import { seenSince } from '../../helpers/seen-since.js';

const OWNER = { wallet: 'wallet', network: 'network' };
const ACCOUNT = 'account';

/** A journal that delays holds and records until `land` is called. */
function slow() {
  const inner = createCoordination();
  const journal = withCoordination(memoryJournal(), inner);
  let fails = false;
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
    release: async (...args) => {
      if (fails) {
        fails = false;
        throw new Error('The connection is cut.');
      }
      return journal.release(...args);
    },
  };
  const failOnce = () => void (fails = true);
  const timed = timedAs(slowJournal, OWNER, 60_000, () => Promise.resolve());
  if (timed.coordination === undefined) throw new Error('The journal has no coordination.');
  const { claims } = inner;
  const another = () => timedAs(slowJournal, OWNER);
  return {
    ...timed,
    shared: timed.coordination,
    another,
    ledger,
    claims,
    inner: journal,
    land,
    failOnce,
  };
}

describe('a hold or record that lands after its attempt was given up', () => {
  it.each(['journal.release', 'journal.put', 'ledger.release'] as const)(
    'holds no tokens after %s',
    async (way) => {
      const { journal, shared, ledger, inner, land } = slow();
      const attempt = attemptOf({ ...OWNER });
      const { id } = attempt;
      await inner.reserve(attempt, []);
      await ledger.see(ACCOUNT, { amount: 5n, at: 0 });
      const taking = shared.ledger.take(ACCOUNT, id, 5n, seenSince(0));
      if (way === 'journal.release') await journal.release(id, { free: [ACCOUNT] });
      else if (way === 'ledger.release') await shared.ledger.release(ACCOUNT, id);
      else await journal.put({ ...attempt, state: 'abandoned' }, { free: [ACCOUNT] });
      land();
      expect(await taking).toBeDefined();
      await new Promise((resolve) => setImmediate(resolve));
      expect(await ledger.held(ACCOUNT)).toBe(0n);
    },
  );

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

  it('leaves neither a record nor a claim if the journal fails once in between', async () => {
    const { journal, claims, inner, land, failOnce } = slow();
    const attempt = attemptOf({ ...OWNER });
    const { id } = attempt;
    const reserving = journal.reserve(attempt, [], { claim: [id] });
    await journal.release(id, { drop: [id] });
    failOnce();
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
