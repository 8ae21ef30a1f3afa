import { address } from '@solana/kit';
import type { MainnetMint, MintSymbol } from './types.js';

export const TOKEN_PROGRAM = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
export const TOKEN_2022_PROGRAM = address('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb');
export const ASSOCIATED_TOKEN_PROGRAM = address('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');

/**
 * The mints of every new sandbox by symbol, with their mainnet address, decimals and token program.
 */
export const SANDBOX_MINTS: Readonly<Record<MintSymbol, MainnetMint>> = {
  // 150 dollars
  SOL: {
    symbol: 'SOL',
    address: address('So11111111111111111111111111111111111111112'),
    decimals: 9,
    tokenProgram: TOKEN_PROGRAM,
    picoUsd: 150_000n,
  },
  USDC: {
    symbol: 'USDC',
    address: address('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'),
    decimals: 6,
    tokenProgram: TOKEN_PROGRAM,
    picoUsd: 1_000_000n,
  },
  USDT: {
    symbol: 'USDT',
    address: address('Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB'),
    decimals: 6,
    tokenProgram: TOKEN_PROGRAM,
    picoUsd: 1_000_000n,
  },
  PYUSD: {
    symbol: 'PYUSD',
    address: address('2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo'),
    decimals: 6,
    tokenProgram: TOKEN_2022_PROGRAM,
    picoUsd: 1_000_000n,
  },
  // 0.00002 dollars
  BONK: {
    symbol: 'BONK',
    address: address('DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263'),
    decimals: 5,
    tokenProgram: TOKEN_PROGRAM,
    picoUsd: 200n,
  },
};

/** The same mints, in a fixed order. */
export const MINTS: readonly MainnetMint[] = Object.values(SANDBOX_MINTS);
