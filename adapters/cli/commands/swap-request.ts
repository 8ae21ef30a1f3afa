import type { SwapQuote, UiSwapRequest } from 'exact-change';
import { mintOf } from '../tokens.js';

export interface SwapFlags {
  readonly amount: string;
  readonly exactOut?: boolean;
  readonly slippageBps?: number;
  readonly yes?: boolean;
}

/** Returns the swap request of a command line. */
export function readSwapRequest(
  [input = '', output = '']: readonly string[],
  { amount, exactOut, slippageBps }: SwapFlags,
  network: string,
): UiSwapRequest {
  return {
    inputMint: mintOf(input, network),
    outputMint: mintOf(output, network),
    uiAmount: amount,
    swapMode: exactOut === true ? 'ExactOut' : 'ExactIn',
    ...(slippageBps === undefined ? {} : { slippageBps }),
  };
}

/** Returns a quote without the provider's own copy (`raw`), for output. */
export function withoutRaw({ raw: _raw, ...quote }: SwapQuote): Omit<SwapQuote, 'raw'> {
  return quote;
}

/** Returns a quote as lines for a person. */
export function quoteText(
  quote: SwapQuote,
  write: (mint: string, units: string) => string,
): string {
  const { inputMint, outputMint, priceImpactBps, slippageBps, provider } = quote;
  const impact = priceImpactBps === null ? 'not known' : percent(priceImpactBps);
  return [
    `${write(inputMint, quote.inAmount)} for ${write(outputMint, quote.outAmount)} (${provider})`,
    `  takes at most   ${write(inputMint, quote.maxInAmount)}`,
    `  brings at least ${write(outputMint, quote.minOutAmount)}`,
    `  price impact    ${impact}, slippage ${percent(slippageBps)}, platform fee none`,
  ].join('\n');
}

const percent = (bps: number): string => `${bps / 100} %`;
