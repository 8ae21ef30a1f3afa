import { SOLANA_MAINNET, type TokenBalance } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { checkBalances } from '../../../../src/payments/plan/check-balances.js';

const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const OTHER = 'JUPyiwrYJFskUPiHa7hkeR8VUtAeFoSYbKedZNsDvCN';
const PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';

const usdc: TokenBalance = {
  ...{
    mint: USDC,
    amount: '1500000',
    decimals: 6,
    uiAmount: '1.5',
    tokenProgram: PROGRAM,
    tokenAccount: OTHER,
    slot: 1,
  },
};
const other: TokenBalance = { ...usdc, mint: OTHER, amount: '7', decimals: 0, uiAmount: '7' };

const check = (balances: readonly unknown[], mints?: readonly string[]) =>
  // A transport may return anything.
  checkBalances(balances as TokenBalance[], mints, SOLANA_MAINNET);

describe('the check of balances from a transport', () => {
  it('accepts balances of the requested mints in order, or of any mints when none are requested', () => {
    expect(() => check([usdc, other], [USDC, OTHER])).not.toThrow();
    expect(() => check([other, usdc])).not.toThrow();
    expect(() => check([], [])).not.toThrow();
  });

  it.each<[string, readonly unknown[]]>([
    ['too few', [usdc]],
    ['too many', [usdc, other, other]],
    ['in another order', [other, usdc]],
    ['of another mint', [usdc, { ...other, mint: USDC, uiAmount: '0.000007', decimals: 6 }]],
    ['without a valid amount', [usdc, { ...other, amount: '-7' }]],
    ['with a display amount that does not match', [usdc, { ...other, uiAmount: '7000' }]],
    [
      'in decimals that differ from the pinned mint',
      [{ ...usdc, decimals: 0, uiAmount: '1500000' }, other],
    ],
    ['in invalid decimals', [usdc, { ...other, decimals: -1 }]],
  ])('refuses balances that are %s', (_, balances) => {
    expect(() => check(balances, [USDC, OTHER])).toThrow(
      expect.objectContaining({
        code: 'invalid_response',
        funds: 'untouched',
        details: expect.objectContaining({ service: 'service' }) as unknown,
      }),
    );
  });
});
