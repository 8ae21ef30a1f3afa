import { describe, expect, it } from 'vitest';
import { SOLANA_DEVNET, SOLANA_MAINNET, WSOL_MINT } from '../../src/network.js';
import { explorerUrl, formatReceipt } from '../../src/receipt-text.js';
import type { FreedReceipt, Receipt } from '../../src/receipt.js';

const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const BONK = 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263';

const receipt: Receipt = {
  id: 'id',
  url: 'https://api.example.com/premium',
  method: 'GET',
  at: 0,
  state: 'pending',
  payment: {
    network: SOLANA_MAINNET,
    mint: USDC,
    amount: '10000',
    decimals: 6,
    uiAmount: '0.01',
    symbol: 'USDC',
    payTo: 'Payee',
    payer: 'Payer',
    payerSignature: 'ours',
  },
  cost: {
    usd: '0.0109',
    parts: { payments: '0.01', swaps: '0.0001', fees: '0.0008' },
    networkFeeLamports: '5000',
    rentLamports: '0',
  },
  timings: {},
};

describe('formatReceipt', () => {
  it('states amount, payee, request and cost, and that a pending payment is undecided', () => {
    expect(formatReceipt(receipt)).toBe(
      [
        'Paid 0.01 USDC to Payee for GET https://api.example.com/premium',
        'Cost 0.0109 USD (payment 0.01, swap 0.0001, fees 0.0008), of it 0.000005 SOL of fees and rent',
        'State pending: the chain has not decided yet',
      ].join('\n'),
    );
  });

  it('mentions no SOL when the payment cost none', () => {
    const cost = { ...receipt.cost, networkFeeLamports: '0' };
    expect(formatReceipt({ ...receipt, cost })).toContain('swap 0.0001, fees 0.0008)\nState');
  });

  it('shows a swap of an unpinned token by mint and base units, and an explorer link', () => {
    const text = formatReceipt({
      ...receipt,
      state: 'settled',
      payment: { ...receipt.payment, signature: 'Sig' },
      swap: {
        signature: 'SwapSig',
        inputMint: BONK,
        inAmount: '1234567',
        outputMint: USDC,
        outAmount: '10010',
        provider: 'jupiter',
      },
    });
    expect(text).toContain(`Swapped 1234567 base units of ${BONK} into 0.01001 USDC (jupiter)`);
    expect(text).toContain('State settled https://explorer.solana.com/tx/Sig');
  });

  it('names an unpinned token by its mint, never by the symbol in the receipt', () => {
    const payment = { ...receipt.payment, mint: BONK, symbol: 'USDC' };
    expect(formatReceipt({ ...receipt, payment })).toContain(`Paid 0.01 of ${BONK} to Payee`);
  });

  it.each([
    ['uncertain', 'May have paid 0.01 USDC to Payee for GET'],
    ['unsettled', 'Paid nothing for GET'],
  ] as const)('does not say that it paid when the payment is %s', (state, text) => {
    expect(formatReceipt({ ...receipt, state }).startsWith(text)).toBe(true);
  });

  it('shows a freed attempt, and its cost in SOL when no dollar price is known', () => {
    const freed: FreedReceipt = {
      ...{ id: 'id', url: receipt.url, method: 'POST', at: 0, state: 'unpaid' },
      swap: {
        signature: 'SwapSig',
        inputMint: WSOL_MINT,
        inAmount: '66000',
        outputMint: USDC,
        outAmount: '10000',
        provider: 'jupiter',
      },
      cost: { lamports: '2044280' },
    };
    expect(formatReceipt(freed)).toBe(
      [
        'Paid nothing for POST https://api.example.com/premium',
        'Swapped 0.000066 SOL into 0.01 USDC (jupiter)',
        'Cost 0.00204428 SOL of fees and rent; what it is worth in dollars is not known',
        'State unpaid: no payment was signed',
      ].join('\n'),
    );
  });
});

describe('explorerUrl', () => {
  it('adds the cluster unless it is mainnet, and escapes a malformed signature', () => {
    expect(explorerUrl('Sig', SOLANA_MAINNET)).toBe('https://explorer.solana.com/tx/Sig');
    expect(explorerUrl('Sig', SOLANA_DEVNET)).toBe(
      'https://explorer.solana.com/tx/Sig?cluster=devnet',
    );
    expect(explorerUrl('../x?y', SOLANA_MAINNET)).toBe('https://explorer.solana.com/tx/..%2Fx%3Fy');
  });
});
