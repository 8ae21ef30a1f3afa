import { ceilDiv, minAmount } from '../../amount.js';
import { FundsError, QuoteError, isExactChangeError } from '../../errors.js';
import { SOLANA_MAINNET } from '../../network.js';
import type { Address } from '../../solana/types.js';
import { amountText } from '../../token-text.js';
import type { QuoteIntent, SwapProvider } from '../provider.js';
import type { SwapMode, SwapQuote } from '../types.js';
import { checkImpact, checkQuote, quoteRefused } from './check-quote.js';

/** An exact output to buy, and the most input to spend on it; amounts in base units. */
export interface ExactOutput {
  readonly inputMint: Address;
  readonly outputMint: Address;
  readonly target: bigint;
  readonly maxIn: bigint;
  /** Estimate of the input, if known: saves a call or two. */
  readonly seedIn?: bigint | undefined;
  readonly slippageBps: number;
  readonly maxAccounts?: number | undefined;
  /** Basis points. Limits the returned quote, not the quotes that only size the input. */
  readonly maxPriceImpactBps?: number | undefined;
}

const MAX_CALLS = 4;
const GOOD_ENOUGH_BPS = 50n;
const WHOLE = 10_000n;

/**
 * Returns a quote with a least output that covers `target` and a most input within `maxIn`. Asks for
 * `ExactOut`, else for `ExactIn` with an input that is sized until slippage cannot make the output
 * too small. At most five calls; every quote passes `checkQuote`. Throws `insufficient_funds`,
 * `no_route`, `quote_mismatch` or `price_impact_too_high`, and any error of the provider. A rate
 * limit or an outage never counts as a missing route.
 */
export async function quoteExactOutput(
  provider: SwapProvider,
  wanted: ExactOutput,
  signal?: AbortSignal,
): Promise<SwapQuote> {
  if (wanted.maxIn <= 0n) throw tooLittleInput(wanted, 1n);
  if (!provider.supportsExactOut) return sizeExactIn(provider, wanted, signal);
  try {
    const quote = await ask(provider, wanted, 'ExactOut', wanted.target, signal);
    if (BigInt(quote.maxInAmount) > wanted.maxIn)
      throw tooLittleInput(wanted, BigInt(quote.maxInAmount));
    return checkCovered(quote, wanted);
  } catch (error) {
    if (!isExactChangeError(error, 'no_route')) throw error;
    return sizeExactIn(provider, wanted, signal);
  }
}

async function sizeExactIn(
  provider: SwapProvider,
  wanted: ExactOutput,
  signal: AbortSignal | undefined,
): Promise<SwapQuote> {
  const { target, maxIn, seedIn = maxIn } = wanted;
  let input = seedIn <= 0n || seedIn > maxIn ? maxIn : seedIn;
  let padBps = 10n;
  let best: SwapQuote | undefined;
  for (let call = 1; call <= MAX_CALLS; call++) {
    const quote = await ask(provider, wanted, 'ExactIn', input, signal);
    const least = BigInt(quote.minOutAmount);
    if (least >= target) {
      // Every further input is smaller, so this quote is the best so far.
      best = quote;
      if (((least - target) * WHOLE) / target <= GOOD_ENOUGH_BPS) break;
    } else if (input === maxIn) {
      if (least === 0n) break;
      throw tooLittleInput(wanted, ceilDiv(maxIn * target, least));
    } else {
      padBps *= 3n;
    }
    const next =
      least === 0n ? input * 10n : ceilDiv(input * target * (WHOLE + padBps), least * WHOLE);
    const bounded = minAmount(next, maxIn);
    if (best !== undefined && bounded >= BigInt(best.inAmount)) break;
    input = bounded;
  }
  if (best === undefined) throw notFound(wanted);
  return checkCovered(best, wanted);
}

async function ask(
  provider: SwapProvider,
  { inputMint, outputMint, slippageBps, maxAccounts }: ExactOutput,
  swapMode: SwapMode,
  amount: bigint,
  signal: AbortSignal | undefined,
): Promise<SwapQuote> {
  const intent: QuoteIntent = {
    inputMint,
    outputMint,
    amount,
    swapMode,
    slippageBps,
    ...(maxAccounts === undefined ? {} : { maxAccounts }),
  };
  const quote = await provider.quote(intent, signal);
  checkQuote(quote, intent);
  return quote;
}

/** Checks that a quote keeps the promise of `quoteExactOutput`, whatever the provider says. */
function checkCovered(
  quote: SwapQuote,
  { target, maxIn, maxPriceImpactBps }: ExactOutput,
): SwapQuote {
  if (maxPriceImpactBps !== undefined) checkImpact(quote, maxPriceImpactBps);
  if (BigInt(quote.minOutAmount) >= target && BigInt(quote.maxInAmount) <= maxIn) return quote;
  throw quoteRefused('it does not cover the amount that was asked for');
}

function tooLittleInput(
  { inputMint, maxIn, target, outputMint }: ExactOutput,
  required: bigint,
): FundsError<'insufficient_funds'> {
  const [goal, cost, most] = [
    amountText(SOLANA_MAINNET, outputMint, target),
    amountText(SOLANA_MAINNET, inputMint, required),
    amountText(SOLANA_MAINNET, inputMint, maxIn),
  ];
  const message = `${goal} cost up to ${cost}, and ${most} may be spent. Fund the wallet, or swap from another token.`;
  return new FundsError('insufficient_funds', message, {
    details: { mint: inputMint, required: required.toString(), available: maxIn.toString() },
  });
}

function notFound({ inputMint, outputMint, target }: ExactOutput): QuoteError<'no_route'> {
  const message = `No amount of ${inputMint} was found that surely buys ${amountText(SOLANA_MAINNET, outputMint, target)}. Swap from another token.`;
  return new QuoteError('no_route', message, { details: { inputMint, outputMint } });
}
