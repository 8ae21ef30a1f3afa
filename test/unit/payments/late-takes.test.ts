import { memoryJournal, type Coordination } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { createCoordination, alongWith } from '../../../src/journal/registry.js';
import type { Journal } from '../../../src/journal/types.js';
import { timedJournal } from '../../../src/payments/journal-timeouts.js';
import { attemptOf, listOf } from '../../helpers/attempts.js';
import { seenSince } from '../../helpers/seen-since.js';

const OWNER = { wallet: 'wallet', network: 'network' };
const ACCOUNT = 'account';
const timer = { now: () => 0, onStep: () => undefined };

/** A journal in which holds and records land when they are let. */
function slow() {
  const inner = createCoordination();
  const journal = alongWith(memoryJournal(), inner);
  let land = (): void => undefined;
  const landing = new Promise<void>((resolve) => (land = resolve));
  const { ledger } = inner;
  const coordination: Coordination = {
    ...inner,
    ledger: {
      ...ledger,
      take: async (...given) => {
        await landing;
        return ledger.take(...given);
      },
      hold: async (...given) => {
        await landing;
        return ledger.hold(...given);
      },
    },
  };
  const given: Journal = {
    ...journal,
    coordination: () => coordination,
    reserve: async (...reserved) => {
      await landing;
      return journal.reserve(...reserved);
    },
  };
  const timed = timedJournal(given, OWNER, 60_000, timer);
  if (timed.coordination === undefined) throw new Error('It has coordination.');
  const { claims } = inner;
  const another = () => timedJournal(given, OWNER, 60_000, timer);
  return { ...timed, shared: timed.coordination, another, ledger, claims, inner: journal, land };
}

describe('what lands after its attempt was given up', () => {
  it.each(['journal.release', 'journal.put', 'ledger.release'] as const)(
    'holds no tokens: %s',
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

  it('holds no tokens, also if another client of the process has ended the attempt', async () => {
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

  it('stays on record neither, nor claimed', async () => {
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

  it('does not stay claimed if it may stay on record', async () => {
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
