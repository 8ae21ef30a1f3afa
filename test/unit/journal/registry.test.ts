import { afterEach, describe, expect, it, vi } from 'vitest';
import type * as Registry from '../../../src/journal/registry.js';
import { walletOf } from '../../../src/journal/registry.js';
import type * as Receipts from '../../../src/receipt.js';
import { attachReceipt, receiptOf, settled, type Receipt } from '../../../src/receipt.js';

afterEach(() => {
  vi.resetModules();
});

const receipt: Receipt = {
  id: 'id',
  url: 'https://api.test/',
  method: 'GET',
  at: 0,
  state: 'pending',
  payment: {
    network: 'n',
    mint: 'm',
    amount: '1',
    decimals: 6,
    uiAmount: '0.000001',
    payTo: 'p',
    payer: 'w',
    payerSignature: 's',
  },
  cost: { networkFeeLamports: '0', rentLamports: '0' },
  timings: {},
};

describe('the registry of wallets', () => {
  it('returns a shared state for each pair of wallet and network', () => {
    const wallet = walletOf('address', 'network');
    expect(walletOf('address', 'network')).toBe(wallet);
    expect(walletOf('address', 'devnet')).not.toBe(wallet);
    expect(walletOf('other', 'network')).not.toBe(wallet);
    expect(walletOf('other', 'network').journal).not.toBe(wallet.journal);
  });

  it('shares budgets, locks and holds also across copies of the package', async () => {
    const { walletOf: elsewhere } = await vi.importActual<typeof Registry>(
      '../../../src/journal/registry.js?another-copy',
    );
    expect(elsewhere).not.toBe(walletOf);
    const [here, there] = [walletOf('copied', 'network'), elsewhere('copied', 'network')];
    expect(there).toBe(here);
    await there.coordination.ledger.hold('account', 'attempt', 5n);
    expect(await here.coordination.ledger.held('account')).toBe(5n);
  });
});

describe('a receipt', () => {
  it('belongs to its response, and shows the state at the time of the question', () => {
    let now = receipt;
    const response = new Response();
    attachReceipt(response, { read: () => now, settled: async () => now });
    expect(receiptOf(response)).toBe(receipt);
    now = { ...receipt, state: 'settled' };
    expect(receiptOf(response)?.state).toBe('settled');
    expect(Object.keys(response)).toEqual(Object.keys(new Response()));
  });

  it('is undefined when nothing was paid', async () => {
    expect(receiptOf(new Response())).toBeUndefined();
    // JavaScript callers may pass whatever a wrapper of fetch returned.
    for (const other of [undefined, null, {}, 'response']) {
      expect(receiptOf(other as Response)).toBeUndefined();
      expect(await settled(other as Response)).toBeUndefined();
    }
  });

  it('is found by another copy of the package', async () => {
    const response = new Response();
    attachReceipt(response, { read: () => receipt, settled: async () => receipt });
    const copy = await vi.importActual<typeof Receipts>('../../../src/receipt.js?another-copy');
    expect(copy.receiptOf).not.toBe(receiptOf);
    expect(copy.receiptOf(response)).toBe(receipt);
    expect(await copy.settled(response)).toBe(receipt);
  });
});
