import type { SwapLimits } from '../../src/swaps/transaction/finish.js';

export const defaultSwapLimits: SwapLimits = {
  maxPriorityFeeLamports: 200_000n,
  maxRentLamports: 10_000_000n,
};
