import { quoteWithin } from '../../../src/payments/plan/quote-within.js';
import { WSOL_MINT } from '../../../src/network.js';
import type { SwapQuote } from '../../../src/swaps/types.js';
import { createRandom } from '../../../test/simulation/random.js';
import { outcomeOf } from './outcome.js';

const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const WHOLE = 10_000n;

/** Vectors of repeated quotes, until a quote is no worse than the approved bounds. */
export function approved(): Promise<unknown>[] {
  return Array.from({ length: 120 }, async (_, index) => {
    const random = createRandom(`spec/approved/${index}`);
    const swapMode = random.pick(['ExactIn', 'ExactOut'] as const);
    const isIn = swapMode === 'ExactIn';
    const slippageBps = random.pick([0, 5, 50, 100]);
    const amount = BigInt(random.int(1, 2 ** 40));
    const market = BigInt(random.int(1, 2 ** 40));
    /** Returns the quoted amount of the other side after a move of the market. */
    const moved = (bps: number) => (market * (WHOLE + BigInt(bps))) / WHOLE + 1n;
    const bounds = (other: bigint, slippage: number) => ({
      maxInAmount: (isIn ? amount : (other * (WHOLE + BigInt(slippage))) / WHOLE).toString(),
      minOutAmount: (isIn ? (other * (WHOLE - BigInt(slippage))) / WHOLE : amount).toString(),
    });
    const worst = bounds(moved(0), slippageBps);
    const request = {
      ...{ inputMint: WSOL_MINT, outputMint: USDC, amount: amount.toString(), swapMode, slippageBps },
    };
    const quotes: unknown[] = [];
    const ask = async (wanted: { readonly slippageBps: number }) => {
      const other = moved(random.int(-120, 120));
      const [inAmount, outAmount] = isIn ? [amount, other] : [other, amount];
      const quote: SwapQuote = {
        ...{ inputMint: WSOL_MINT, outputMint: USDC, swapMode },
        ...{ inAmount: inAmount.toString(), outAmount: outAmount.toString() },
        ...bounds(other, wanted.slippageBps),
        slippageBps: wanted.slippageBps,
        ...{ priceImpactBps: null, platformFeeBps: 0, route: [], provider: 'jupiter-v1', quotedAt: 0, raw: null },
      };
      quotes.push(quote);
      return quote;
    };
    const outcome = await outcomeOf(quoteWithin(request, worst, ask));
    return { request, worst, quotes, ...outcome };
  });
}
