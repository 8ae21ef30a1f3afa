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

describe('what clients of one wallet share', () => {
  it('is one for the wallet and network, and another for others', () => {
    const wallet = walletOf('address', 'network');
    expect(walletOf('address', 'network')).toBe(wallet);
    expect(walletOf('address', 'devnet')).not.toBe(wallet);
    expect(walletOf('other', 'network')).not.toBe(wallet);
    expect(walletOf('other', 'network').journal).not.toBe(wallet.journal);
  });

  it('is one also across copies of the package: budgets, locks and holds', async () => {
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

describe('receipts', () => {
  it('belong to the response, as they stand when asked for', () => {
    let now = receipt;
    const response = new Response();
    attachReceipt(response, { read: () => now, settled: async () => now });
    expect(receiptOf(response)).toBe(receipt);
    now = { ...receipt, state: 'settled' };
    expect(receiptOf(response)?.state).toBe('settled');
    expect(Object.keys(response)).toEqual(Object.keys(new Response()));
  });

  it('are none if nothing was paid', async () => {
    expect(receiptOf(new Response())).toBeUndefined();
    // From JavaScript, with whatever a wrapper of fetch gave.
    for (const other of [undefined, null, {}, 'response']) {
      expect(receiptOf(other as Response)).toBeUndefined();
      expect(await settled(other as Response)).toBeUndefined();
    }
  });

  it('are found by another copy of the package', async () => {
    const response = new Response();
    attachReceipt(response, { read: () => receipt, settled: async () => receipt });
    const copy = await vi.importActual<typeof Receipts>('../../../src/receipt.js?another-copy');
    expect(copy.receiptOf).not.toBe(receiptOf);
    expect(copy.receiptOf(response)).toBe(receipt);
    expect(await copy.settled(response)).toBe(receipt);
  });
});
