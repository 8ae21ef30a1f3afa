import { expect, it } from 'vitest';
import { newWallet } from '../../../../src/journal/registry.js';
import { TOKEN_PROGRAM } from '../../../../src/network.js';
import type { PaymentContext } from '../../../../src/payments/context.js';
import { rememberAfter } from '../../../../src/payments/reconcile/swap-outcome.js';

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
    { account: SOURCE, owner: 'w', mint: 'in', before: 500n, after: 400n },
    { account: OUTPUT, owner: 'w', mint: 'out', before, after: before + 90n },
  ],
});

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
    const { ledger } = newWallet().coordination;
    const payments = ['one', 'two', 'three', 'four'];
    await ledger.see(OUTPUT, { amount: 4n * PRICE, at: 0, slot: 1 });
    for (const id of payments) await ledger.take(OUTPUT, id, PRICE, FRESH);
    for (const id of payments) await ledger.spend(OUTPUT, id, SLOT);
    const context = {
      ledger,
      rpc,
      config: { runtime: { now: () => 0 } },
    } as unknown as PaymentContext; // The parts of a context that it needs.

    const swap = swapOnto(BigInt(later) * PRICE);
    await rememberAfter(context, swap, { source: SOURCE, output: OUTPUT }, new Set([OUTPUT]));

    expect(await ledger.available(OUTPUT, FRESH)).toBe(known);
  },
);
