import type { Fresh } from '../../src/journal/account-balance.js';

/** Takes balances for true that were seen at a moment or later. */
export const seenSince = (from: number): Fresh => ({ from, to: Infinity });
