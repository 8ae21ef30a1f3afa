import { isTokenProgram } from '../../network.js';
import { decodeMessage } from '../../solana/transactions/transaction.js';
import type { Offer } from '../types.js';

/** Index at which official facilitators expect the transfer: after limit and price. */
const TRANSFER_AT = 2;
/** The most instructions that facilitators of version 2 and 1 take, by the package of 2026. */
const MOST = { 2: 7, 1: 6 } as const;
/** The first facilitators of version 1 take only limit, price and transfer. */
const MOST_OF_OLDEST = 3;

/**
 * Returns why official facilitators refuse a payment with the wallet's guards in it. They check
 * programs, positions and the number of instructions, and never what a guard does.
 */
export function refusesForm(
  { x402Version, takesMemo, memo }: Offer,
  message: Uint8Array,
): string | undefined {
  const { staticAccounts = [], instructions = [] } = decodeMessage(message) ?? {};
  const program = staticAccounts[instructions[TRANSFER_AT]?.programIndex ?? -1];
  if (program === undefined || !isTokenProgram(program))
    return 'the transfer must be the third instruction';
  const isOldest = x402Version === 1 && !takesMemo && memo === undefined;
  const most = isOldest ? MOST_OF_OLDEST : MOST[x402Version];
  return instructions.length > most
    ? `it has ${instructions.length} instructions, and ${most} is the most`
    : undefined;
}
