import type { SwapQuote, UiSwapRequest } from 'exact-change';
import { mintOf } from '../tokens.js';

export interface SwapFlags {
  readonly amount: string;
  readonly exactOut?: boolean;
  readonly slippageBps?: number;
  readonly yes?: boolean;
}

/** The swap that a command line asks for. */
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

/** What is shown of a quote. The provider's own copy is not. */
export function withoutRaw({ raw: _raw, ...quote }: SwapQuote): Omit<SwapQuote, 'raw'> {
  return quote;
}

/** A quote in lines for a person. */
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
