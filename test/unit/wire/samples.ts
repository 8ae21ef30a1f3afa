import type { SwapQuote } from '../../../src/swaps/types.js';
import type { TokenBalance } from '../../../src/transport.js';

export const WALLET = '7fUAJdStEuGbc3sM84cKRL6yYaaSstyLSU4ve5oovLS7';
export const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
export const WSOL = 'So11111111111111111111111111111111111111112';
export const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';

export const quote: SwapQuote = {
  inputMint: WSOL,
  outputMint: USDC,
  swapMode: 'ExactOut',
  inAmount: '6666667',
  outAmount: '1000000',
  minOutAmount: '1000000',
  maxInAmount: '6700000',
  slippageBps: 50,
  priceImpactBps: 0.5,
  platformFeeBps: 0,
  route: ['Whirlpool'],
  provider: 'jupiter-v1',
  quotedAt: 1_700_000_000_000,
  raw: { routePlan: [{ percent: 100 }] },
};

export const balanceOfUsdc: TokenBalance = {
  mint: USDC,
  amount: '2500000',
  decimals: 6,
  uiAmount: '2.5',
  tokenProgram: TOKEN_PROGRAM,
  tokenAccount: 'FGETo8T8wMcN2wCjav8VK6eh3dLk63evNDPxzLSJra8B',
  slot: 300_000_000,
};
