import { describe, expect, it } from 'vitest';
import {
  changed,
  emptyBalance,
  type AccountBalance,
} from '../../../src/journal/account-balance.js';
import { createLedger, ledgerOver } from '../../../src/journal/balance-ledger.js';
import { seenSince } from '../../helpers/seen-since.js';

// Known and held amounts of a balance are tested in account-balance.test.ts, and what processes
// share in test/contract/coordination-contract.ts.

/** The result of a take, if the chain's reading has no slot. */
const TAKEN = { before: undefined };

describe('a balance ledger', () => {
  it('grants only the takes that fit when 20 takes run at once', async () => {
    const ledger = createLedger();
    await ledger.see('a', { amount: 55n, at: 1_000 });
    const takes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => ledger.take('a', `${index}`, 10n, seenSince(1_000))),
    );
    expect(takes.filter((taken) => taken !== undefined)).toHaveLength(5);
    expect([await ledger.available('a', seenSince(1_000)), await ledger.held('a')]).toEqual([
      5n,
      50n,
    ]);
  });

  it('refuses a take and changes nothing when the account was never read, or too long ago', async () => {
    const ledger = createLedger();
    expect(await ledger.take('a', 'one', 0n, seenSince(0))).toEqual(TAKEN);
    expect(await ledger.take('a', 'two', 1n, seenSince(0))).toBeUndefined();
    await ledger.see('a', { amount: 10n, at: 1_000 });
    expect(await ledger.take('a', 'two', 10n, seenSince(1_001))).toBeUndefined();
    expect(await ledger.held('a')).toBe(0n);
    expect(await ledger.available('a', seenSince(1_001))).toBeUndefined();
  });

  it('returns with each take the reading that the balance is based on', async () => {
    const ledger = createLedger();
    await ledger.see('a', { amount: 100n, at: 0, slot: 7 });
    const [first, second] = [
      await ledger.take('a', 'one', 60n, seenSince(0)),
      await ledger.take('a', 'two', 10n, seenSince(0)),
    ];
    expect([first, second]).toEqual([
      { before: { amount: 100n, slot: 7 } },
      { before: { amount: 100n, slot: 7 } },
    ]);
  });

  it('confirms a repeated take and holds the amount once', async () => {
    const ledger = createLedger();
    await ledger.see('a', { amount: 10n, at: 0 });
    expect(await ledger.take('a', 'one', 5n, seenSince(0))).toEqual(TAKEN);
    expect(await ledger.take('a', 'one', 5n, seenSince(0))).toEqual(TAKEN);
    expect(await ledger.held('a')).toBe(5n);
  });

  it('keeps accounts apart through holds, spends, releases, readings and forgetting', async () => {
    const ledger = createLedger();
    for (const account of ['a', 'b']) await ledger.see(account, { amount: 100n, at: 0, slot: 1 });
    for (const id of ['spent', 'released', 'open']) await ledger.hold('a', id, 10n);
    await ledger.spend('a', 'spent', 2);
    await ledger.release('a', 'released');
    expect([await ledger.available('a', seenSince(0)), await ledger.held('a')]).toEqual([80n, 10n]);
    expect([await ledger.available('b', seenSince(0)), await ledger.held('b')]).toEqual([100n, 0n]);
    await ledger.see('a', { amount: 130n, at: 1 }, 40n);
    expect(await ledger.available('a', seenSince(1))).toBe(120n);
    await ledger.forget('a');
    expect([
      await ledger.available('a', seenSince(0)),
      await ledger.available('b', seenSince(0)),
    ]).toEqual([undefined, 100n]);
  });

  it('writes to its store once for each change, and never for a query', async () => {
    const changes: string[] = [];
    let balance: AccountBalance = emptyBalance;
    const ledger = ledgerOver({
      read: async () => balance,
      step: async (account, decide) => {
        const { change, result } = decide(balance);
        changes.push(account);
        if (change !== undefined) balance = changed(balance, change);
        return result;
      },
    });
    await ledger.see('a', { amount: 1n, at: 0 });
    await ledger.available('b', seenSince(0));
    await ledger.held('c');
    await ledger.take('d', 'one', 1n, seenSince(0));
    expect(changes).toEqual(['a', 'd']);
  });
});

describe('a repeated take of a hold', () => {
  it('succeeds after a release, and is refused after a spend', async () => {
    const ledger = createLedger();
    await ledger.see('a', { amount: 100n, at: 0 });
    expect([
      await ledger.take('a', 'one', 60n, seenSince(0)),
      await ledger.take('a', 'one', 60n, seenSince(0)),
    ]).toEqual([TAKEN, TAKEN]);
    await ledger.release('a', 'one');
    expect([await ledger.take('a', 'one', 60n, seenSince(0)), await ledger.held('a')]).toEqual([
      TAKEN,
      60n,
    ]);
    await ledger.spend('a', 'one');
    expect([await ledger.take('a', 'one', 40n, seenSince(0)), await ledger.held('a')]).toEqual([
      undefined,
      0n,
    ]);
  });
});
