import { ceilDiv, minAmount, U64_MAX, WHOLE } from '../../amount.js';
import { QuoteError } from '../../errors.js';
import { SOLANA_MAINNET } from '../../network.js';
import type { Address } from '../../solana/types.js';
import { amountText } from '../../token-text.js';
import type { QuoteIntent, SwapProvider } from '../provider.js';
import type { SwapQuote } from '../types.js';
import { checkQuote } from './check-quote.js';

/** An exact output to buy; amounts in base units. */
export interface ExactOutput {
  readonly inputMint: Address;
  readonly outputMint: Address;
  readonly target: bigint;
  /** Estimate of the input. */
  readonly seedIn: bigint;
  readonly slippageBps: number;
  readonly maxAccounts?: number | undefined;
}

const MAX_CALLS = 4;
const GOOD_ENOUGH_BPS = 50n;

/**
 * Returns an `ExactIn` quote with a least output that covers `target`: the input is sized until
 * slippage cannot make the output too small. At most four calls; every quote passes `checkQuote`.
 * Throws `no_route` or `quote_mismatch`, and any error of the provider.
 */
export async function sizeExactIn(
  provider: SwapProvider,
  { inputMint, outputMint, target, seedIn, slippageBps, maxAccounts }: ExactOutput,
  signal?: AbortSignal,
): Promise<SwapQuote> {
  let amount = seedIn;
  let padBps = 10n;
  let best: SwapQuote | undefined;
  for (let call = 1; call <= MAX_CALLS; call++) {
    const intent: QuoteIntent = {
      ...{ inputMint, outputMint, amount, swapMode: 'ExactIn', slippageBps },
      ...(maxAccounts === undefined ? {} : { maxAccounts }),
    };
    const quote = await provider.quote(intent, signal);
    checkQuote(quote, intent);
    const least = BigInt(quote.minOutAmount);
    if (least >= target) {
      // Every further input is smaller, so this quote is the best so far.
      best = quote;
      if (((least - target) * WHOLE) / target <= GOOD_ENOUGH_BPS) break;
    } else {
      padBps *= 3n;
    }
    const next =
      least === 0n ? amount * 10n : ceilDiv(amount * target * (WHOLE + padBps), least * WHOLE);
    const bounded = minAmount(next, U64_MAX);
    if (bounded === amount || (best !== undefined && bounded >= BigInt(best.inAmount))) break;
    amount = bounded;
  }
  if (best !== undefined) return best;
  const message = `No amount of ${inputMint} was found that surely buys ${amountText(SOLANA_MAINNET, outputMint, target)}. Swap from another token.`;
  throw new QuoteError('no_route', message, { details: { inputMint, outputMint } });
}
