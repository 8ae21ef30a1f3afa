import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../network.js';
import { decodeMessage } from '../../solana/transactions/transaction.js';
import type { Offer } from '../types.js';

/** Where the official facilitators look for the transfer: after limit and price. */
const TRANSFER_AT = 2;
/** The most instructions that those of version 2 and of version 1 take, by the package of 2026. */
const MOST = { 2: 7, 1: 6 } as const;
/** The first facilitators of version 1 take limit, price and transfer alone. */
const MOST_OF_OLDEST = 3;

/**
 * Why the official facilitators refuse a payment with guards of the wallet in it. They look at
 * programs, places and their number, and never at what a guard does.
 */
export function refusesForm(
  { x402Version, takesMemo, memo }: Offer,
  message: Uint8Array,
): string | undefined {
  const { staticAccounts = [], instructions = [] } = decodeMessage(message) ?? {};
  const program = staticAccounts[instructions[TRANSFER_AT]?.programIndex ?? -1];
  if (program !== TOKEN_PROGRAM && program !== TOKEN_2022_PROGRAM)
    return 'the transfer must be the third instruction';
  const isOldest = x402Version === 1 && !takesMemo && memo === undefined;
  const most = isOldest ? MOST_OF_OLDEST : MOST[x402Version];
  return instructions.length > most
    ? `it has ${instructions.length} instructions, and ${most} is the most`
    : undefined;
}
