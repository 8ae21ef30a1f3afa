import { describe, expect, it } from 'vitest';
import { newWallet } from '../../../../src/journal/registry.js';
import { TOKEN_PROGRAM } from '../../../../src/network.js';
import type { PaymentContext } from '../../../../src/payments/context.js';
import { rememberAfter, rememberSince } from '../../../../src/payments/reconcile/swap-outcome.js';

const [SOURCE, OUTPUT] = ['source', 'output'];
const PRICE = 10n;
const SLOT = 7;
const FRESH = { from: 0, to: 0 };

/** A chain with an account that holds an amount at the end of each slot. */
function chainWith(amount: bigint) {
  const data = new Uint8Array(165);
  new DataView(data.buffer).setBigUint64(64, amount, true);
  data[108] = 1;
  const account = { owner: TOKEN_PROGRAM, lamports: 1n, data, executable: false };
  return { accounts: () => Promise.resolve({ slot: SLOT, accounts: [account] }) };
}

/** A swap, as its transaction shows it, that brings 90 into an account with this amount. */
const swapOnto = (before: bigint) => ({
  signatures: ['swap'],
  tellsTokens: true,
  slot: SLOT,
  error: null,
  feeLamports: 0n,
  lamports: new Map(),
  tokenChanges: [
    { account: SOURCE, mint: 'in', before: 500n, after: 400n },
    { account: OUTPUT, mint: 'out', before, after: before + 90n },
  ],
});

/** Returns the parts of a context that it needs. */
const contextOn = (rpc: object) =>
  ({
    ...{ rpc, ledger: newWallet().coordination.ledger },
    config: { runtime: { now: () => 0 } },
  }) as unknown as PaymentContext;

const silent = { accounts: () => Promise.reject(new Error('no answer')) };

// The payments land in the slot of the swap, and end before the amounts of the swap are read.
it.each([
  ['all before the swap', 0, chainWith(90n), 90n],
  ['half of them after the swap', 2, chainWith(90n), 90n],
  ['all after the swap', 4, chainWith(90n), 90n],
  ['all after the swap, and no node answers', 4, silent, undefined],
])(
  'knows no more than the balance when four payments landed in the slot of a swap: %s',
  async (...row) => {
    const [, later, rpc, known] = row;
    const context = contextOn(rpc);
    const { ledger } = context;
    const payments = ['one', 'two', 'three', 'four'];
    await ledger.see(OUTPUT, { amount: 4n * PRICE, at: 0, slot: 1 });
    for (const id of payments) await ledger.take(OUTPUT, id, PRICE, FRESH);
    for (const id of payments) await ledger.spend(OUTPUT, id, SLOT);
    const swap = swapOnto(BigInt(later) * PRICE);
    await rememberAfter(context, swap, { source: SOURCE, output: OUTPUT }, new Set([OUTPUT]));

    expect(await ledger.available(OUTPUT, FRESH)).toBe(known);
  },
);

describe('a swap that no node gives', () => {
  it('leaves a balance that no late reading of an earlier slot replaces', async () => {
    const context = contextOn(chainWith(95n));
    await rememberSince(context, OUTPUT, SLOT, 90n);
    await context.ledger.see(OUTPUT, { amount: 5n, at: 1, slot: SLOT - 1 });
    expect(await context.ledger.available(OUTPUT, FRESH)).toBe(95n);
  });

  it('leaves the least balance that its guard proved when no node answers', async () => {
    const context = contextOn(silent);
    await rememberSince(context, OUTPUT, SLOT, 90n);
    expect(await context.ledger.available(OUTPUT, FRESH)).toBe(90n);
  });
});
