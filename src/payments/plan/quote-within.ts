import { WHOLE } from '../../amount.js';
import type { ResolvedRequest } from '../../config/swap-request.js';
import { PolicyError } from '../../errors.js';
import type { SwapQuote } from '../../swaps/types.js';

/** The approved bounds of a swap, in base units: the most to take and the least to bring. */
export type WorstPrice = Pick<SwapQuote, 'maxInAmount' | 'minOutAmount'>;

/** About how far a price moves between two quotes. */
const HEADROOM_BPS = 1n;
const MOST_QUOTES = 3;

/**
 * Returns a quote that keeps the approved bounds. If the market moved against the swap, the quote
 * gets only the approved slippage that is left. Throws `approval_refused` if no slippage is left.
 */
export async function quoteWithin(
  request: ResolvedRequest,
  worst: WorstPrice,
  ask: (request: ResolvedRequest) => Promise<SwapQuote>,
): Promise<SwapQuote> {
  let { slippageBps } = request;
  for (let quotes = 0; quotes < MOST_QUOTES; quotes += 1) {
    const quote = await ask({ ...request, slippageBps });
    if (isWithin(quote, worst)) return quote;
    const left = Number(slippageLeft(quote, worst));
    if (left < 0) break;
    slippageBps = Math.min(left, slippageBps);
  }
  throw pastApproval();
}

export function pastApproval(): PolicyError {
  return new PolicyError(
    'approval_refused',
    'What the swap takes moved past what was approved, so nothing more was signed. Ask for a new quote.',
    { details: { reason: 'changed' }, retry: 'fresh' },
  );
}

function isWithin({ maxInAmount, minOutAmount }: SwapQuote, worst: WorstPrice): boolean {
  return (
    BigInt(maxInAmount) <= BigInt(worst.maxInAmount) &&
    BigInt(minOutAmount) >= BigInt(worst.minOutAmount)
  );
}

/** Returns the basis points from the current price to the approved bound; negative if past it. */
function slippageLeft(
  { inAmount, outAmount, swapMode }: SwapQuote,
  { maxInAmount, minOutAmount }: WorstPrice,
): bigint {
  const [room, quoted] =
    swapMode === 'ExactIn'
      ? [BigInt(outAmount) - BigInt(minOutAmount), BigInt(outAmount)]
      : [BigInt(maxInAmount) - BigInt(inAmount), BigInt(inAmount)];
  return room < 0n ? -1n : (room * WHOLE) / quoted - HEADROOM_BPS;
}
