import type { ResolvedRequest } from '../../config/swap-request.js';
import { PolicyError } from '../../errors.js';
import type { SwapQuote } from '../../swaps/types.js';

/** The most that leaves and the least that arrives of what was approved, in base units. */
export type WorstPrice = Pick<SwapQuote, 'maxInAmount' | 'minOutAmount'>;

const WHOLE = 10_000n;
/** Prices move by about so much from one quote to the next. */
const HEADROOM_BPS = 1n;
const MOST_QUOTES = 3;

/**
 * A quote that is no worse than what was approved, whatever the market did since: if it has moved
 * against the swap, the rest of the slippage that was approved is what the swap gets. Throws
 * `approval_refused` if none is left.
 */
export async function quoteWithin(
  request: ResolvedRequest,
  worst: WorstPrice,
  ask: (request: ResolvedRequest) => Promise<SwapQuote>,
): Promise<SwapQuote> {
  let { slippageBps } = request;
  for (let asked = 0; asked < MOST_QUOTES; asked += 1) {
    const quote = await ask({ ...request, slippageBps });
    if (isWithin(quote, worst)) return quote;
    const left = Number(slippageLeft(quote, worst));
    if (left < 0) break;
    slippageBps = Math.min(left, slippageBps);
  }
  throw pastApproval();
}

/** What was approved is not enough any more. */
export function pastApproval(): PolicyError {
  return new PolicyError(
    'approval_refused',
    'What the swap takes moved past what was approved, so nothing was signed. Ask for a new quote.',
    { details: { reason: 'changed' }, retry: 'fresh' },
  );
}

function isWithin({ maxInAmount, minOutAmount }: SwapQuote, worst: WorstPrice): boolean {
  return (
    BigInt(maxInAmount) <= BigInt(worst.maxInAmount) &&
    BigInt(minOutAmount) >= BigInt(worst.minOutAmount)
  );
}

/** Basis points from the price now to the worst one; below 0 if there are none. */
function slippageLeft(
  { inAmount, outAmount, swapMode }: SwapQuote,
  { maxInAmount, minOutAmount }: WorstPrice,
): bigint {
  const [room, of] =
    swapMode === 'ExactIn'
      ? [BigInt(outAmount) - BigInt(minOutAmount), BigInt(outAmount)]
      : [BigInt(maxInAmount) - BigInt(inAmount), BigInt(inAmount)];
  return room < 0n ? -1n : (room * WHOLE) / of - HEADROOM_BPS;
}
