import { describe, expect, it } from 'vitest';
import {
  pinnedMint,
  pinnedMints,
  sellersNetwork,
  SOLANA_DEVNET,
  SOLANA_MAINNET,
  SOLANA_TESTNET,
  toNetwork,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '../../src/network.js';
import { isAddress } from '../../src/solana/address.js';

describe("a seller's network", () => {
  it.each([
    ['solana', SOLANA_MAINNET],
    [' solana ', SOLANA_MAINNET],
    ['solana-mainnet-beta', SOLANA_MAINNET],
    ['solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', SOLANA_MAINNET],
    ['solana-devnet', SOLANA_DEVNET],
    ['solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1', SOLANA_DEVNET],
    ['solana-testnet', SOLANA_TESTNET],
  ])('is read from %j as %s', (name, network) => {
    expect([sellersNetwork(name), toNetwork(name)]).toEqual([network, network]);
  });

  it.each(['', 'Solana', 'base', 'solana:', 'mainnet', 'sol\u0430na', '__proto__', 'constructor'])(
    'is not read from the unknown name %j',
    (name) => {
      expect(sellersNetwork(name)).toBeUndefined();
    },
  );
});

describe("a caller's name of a network", () => {
  it.each([
    ['mainnet', SOLANA_MAINNET, 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'],
    [' devnet ', SOLANA_DEVNET, '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU'],
    ['solana-devnet', SOLANA_DEVNET, '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU'],
    ['testnet', SOLANA_TESTNET, undefined],
    ['base', undefined, undefined],
    ['', undefined, undefined],
  ])('%j gives its id and its pinned mints', (name, network, usdc) => {
    expect([toNetwork(name), pinnedMints(name)[0]?.mint]).toEqual([network, usdc]);
  });
});

describe('pinned mints', () => {
  it.each([SOLANA_MAINNET, SOLANA_DEVNET])(
    'of %s are unique addresses with a token program and 6 or 9 decimals',
    (network) => {
      const pinned = pinnedMints(network);
      for (const { mint, tokenProgram, decimals } of pinned) {
        expect(isAddress(mint)).toBe(true);
        expect([TOKEN_PROGRAM, TOKEN_2022_PROGRAM]).toContain(tokenProgram);
        expect([6, 9]).toContain(decimals);
      }
      expect(new Set(pinned.map(({ mint }) => mint)).size).toBe(pinned.length);
      expect(new Set(pinned.map(({ symbol }) => symbol)).size).toBe(pinned.length);
      expect(pinned.filter(({ dollar }) => !dollar).map(({ symbol }) => symbol)).toEqual(['SOL']);
    },
  );

  it('match an exact symbol or address only', () => {
    expect(pinnedMint(SOLANA_MAINNET, 'USDC')?.mint).toBe(
      'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
    );
    expect(pinnedMint(SOLANA_MAINNET, 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v')?.symbol).toBe(
      'USDC',
    );
    for (const name of ['usdc', ' USDC', 'USDС', '', 'constructor'])
      expect(pinnedMint(SOLANA_MAINNET, name)).toBeUndefined();
  });
});
