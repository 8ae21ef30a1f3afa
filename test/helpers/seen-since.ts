import type { Fresh } from '../../src/journal/account-balance.js';

/** Accepts balances that were read at a moment or later. */
export const seenSince = (from: number): Fresh => ({ from, to: Infinity });
