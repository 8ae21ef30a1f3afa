import { describe, expect, it } from 'vitest';
import { SOLANA_MAINNET, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../../../src/network.js';
import { associatedTokenAddress } from '../../../../src/solana/tokens/accounts.js';
import { type TokenAccount } from '../../../../src/solana/tokens/decode.js';
import {
  type CandidateChoice,
  type Holding,
  orderCandidates,
} from '../../../../src/swaps/quote/candidates.js';
import { BONK, PYUSD, STRANGER, USDC, USDT, WALLET, WSOL, someKey } from '../support.js';

function holding(
  mint: string,
  amount: bigint,
  change: Partial<TokenAccount> & { address?: string } = {},
): Holding {
  const { address, ...rest } = change;
  const tokenProgram = mint === PYUSD ? TOKEN_2022_PROGRAM : TOKEN_PROGRAM;
  const account: TokenAccount = {
    ...{
      tokenProgram,
      mint,
      owner: WALLET,
      amount,
      state: 'initialized',
      isNative: false,
      extensions: [],
      requiresMemo: false,
    },
    ...rest,
  };
  return { address: address ?? associatedTokenAddress(WALLET, mint, tokenProgram), account };
}

const OTHER = someKey(200);
const order = (tokens: Holding[], choice: Partial<CandidateChoice> = {}, lamports = 10n ** 9n) =>
  orderCandidates(
    { network: SOLANA_MAINNET, wallet: WALLET, lamports, tokens },
    { outputMint: USDC, keepLamports: 10_000_000n, ...choice },
  );

describe('orderCandidates', () => {
  const held = [
    holding(BONK, 5_000n),
    holding(OTHER, 9n),
    holding(USDT, 5n),
    holding(PYUSD, 8n),
    holding(USDC, 100n),
  ];

  it('puts stablecoins first, then SOL, then other tokens by amount, and omits the bought token', () => {
    const mints = (choice?: Partial<CandidateChoice>) =>
      order(held, choice).map((candidate) => candidate.mint);
    expect(mints()).toEqual([PYUSD, USDT, WSOL, BONK, OTHER]);
    expect(mints({ outputMint: WSOL })).not.toContain(WSOL);
  });

  it('follows the order of the caller by symbol or mint, and adds no token', () => {
    expect(
      order(held, { swapFrom: ['SOL', BONK, 'USDC', someKey(250)] }).map(
        (candidate) => candidate.mint,
      ),
    ).toEqual([WSOL, BONK]);
    expect(order(held, { swapFrom: [] })).toEqual([]);
  });

  it('keeps SOL back, counts wrapped SOL, and subtracts reservations', () => {
    const sol = (choice: Partial<CandidateChoice>, lamports: bigint) =>
      order([holding(WSOL, 500n)], choice, lamports)[0]?.available;
    expect(sol({}, 10_000_100n)).toBe(600n);
    expect(sol({}, 9_999_999n)).toBe(500n);
    expect(sol({ reserved: new Map([[WSOL, 599n]]) }, 10_000_100n)).toBe(1n);
    expect(sol({ reserved: new Map([[WSOL, 600n]]) }, 10_000_100n)).toBeUndefined();
  });

  it.each<[string, Holding]>([
    ['frozen', holding(BONK, 5n, { state: 'frozen' })],
    ['delegated', holding(BONK, 5n, { delegate: STRANGER })],
    ['closable by a stranger', holding(BONK, 5n, { closeAuthority: STRANGER })],
    ['not the associated account', holding(BONK, 5n, { address: STRANGER })],
    ['of another wallet', holding(BONK, 5n, { owner: STRANGER })],
    ['of another program', holding(BONK, 5n, { tokenProgram: STRANGER })],
    ['guarded against other programs', holding(BONK, 5n, { hasCpiGuard: true })],
    ['an NFT', holding(BONK, 1n)],
    ['empty', holding(BONK, 0n)],
  ])('omits a token account that is %s', (_, token) => {
    expect(order([token], {}, 0n)).toEqual([]);
  });

  it('omits SOL if its wrapped account cannot take part in a swap', () => {
    const mints = (wrapped: Holding) => order([wrapped]).map(({ mint }) => mint);
    expect(mints(holding(WSOL, 0n, { delegate: STRANGER }))).toEqual([]);
    expect(mints(holding(WSOL, 5n, { delegate: STRANGER, address: STRANGER }))).toEqual([WSOL]);
  });
});
