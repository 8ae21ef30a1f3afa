import { minAmount, parseAmount, U64_MAX, USD_DECIMALS } from '../../amount.js';
import { isExactChangeError } from '../../errors.js';
import { pinnedMint, mintsPinnedOn, type PinnedMint } from '../../network.js';
import type { Address } from '../../solana/types.js';
import { checkFields, checkQuote } from '../../swaps/quote/check-quote.js';
import type { PaymentContext } from '../context.js';
import { makeRoom, type PriceSeen } from '../memory.js';

// A payment takes less time from its choice of an offer to its swap.
export const PRICE_MEMORY_MS = 5 * 60_000;

const MAX_QUOTES = 3;
// Dollar tokens to try. A token without a route to the first mostly has no route to the second, and
// sellers name dozens of tokens.
const MAX_DOLLARS = { pinned: 2, other: 1 };
const MICRO_USD = 10n ** BigInt(USD_DECIMALS);
// A fair amount moves no price noticeably, and is not distorted by rounding to a millionth of a
// dollar.
const LEAST = MICRO_USD / 10n;
const MOST = 10_000n * MICRO_USD;
const WANTED = MICRO_USD;
const MOST_WITH_UNKNOWN_IMPACT = 10n * MICRO_USD;
const MAX_IMPACT_BPS = 100;
const MAX_DECIMALS = 18;

// The search for a fair amount starts from this guess, so a wrong guess does no harm.
const USUAL_DECIMALS = 6;

/** Returns the price in the first dollar token that has a route; remembers the result. */
export async function searchPrice(
  context: PaymentContext,
  mint: Address,
  decimals: number | undefined,
  signal: AbortSignal | undefined,
): Promise<PriceSeen | undefined> {
  const { network, runtime } = context.config;
  const pinned = pinnedMint(network, mint);
  const dollars = pinned === undefined ? MAX_DOLLARS.other : MAX_DOLLARS.pinned;
  const start = decimals ?? pinned?.decimals ?? USUAL_DECIMALS;
  for (const dollar of mintsPinnedOn(network).slice(0, dollars)) {
    const price = await askPrice(context, mint, dollar, start, signal);
    if (price === undefined) continue;
    remember(context, mint, price);
    return price;
  }
  const { unpriced } = context.memory;
  makeRoom(unpriced);
  unpriced.set(mint, runtime.now());
  return undefined;
}

/**
 * Returns a price without a noticeable impact. Requests as many quotes as it takes to find a fair
 * amount: mostly one.
 */
async function askPrice(
  context: PaymentContext,
  mint: Address,
  dollar: PinnedMint,
  decimals: number,
  signal: AbortSignal | undefined,
): Promise<PriceSeen | undefined> {
  let reference = 10n ** BigInt(Math.min(decimals, MAX_DECIMALS));
  let found: PriceSeen | undefined;
  for (let call = 1; call <= MAX_QUOTES; call++) {
    const answer = await askOnce(context, mint, dollar, reference, signal);
    if (answer === undefined) break;
    const { outAmount, impactBps } = answer;
    const microUsd = scale(outAmount, dollar.decimals);
    // If the price impact is not known, a small amount has a small impact.
    const hasLowImpact =
      impactBps === null ? microUsd <= MOST_WITH_UNKNOWN_IMPACT : impactBps <= MAX_IMPACT_BPS;
    if (hasLowImpact && microUsd > 0n)
      found = { reference, microUsd, at: context.config.runtime.now() };
    if (hasLowImpact ? microUsd >= LEAST && microUsd <= MOST : found !== undefined) break;
    const next = withinU64(nextReference(reference, microUsd, hasLowImpact));
    if (next === reference) break;
    reference = next;
  }
  return found;
}

function nextReference(reference: bigint, microUsd: bigint, hasLowImpact: boolean): bigint {
  if (!hasLowImpact && microUsd <= WANTED) return reference / 100n;
  return microUsd === 0n ? reference * 1_000_000n : (reference * WANTED) / microUsd;
}

function withinU64(amount: bigint): bigint {
  return amount < 1n ? 1n : minAmount(amount, U64_MAX);
}

async function askOnce(
  context: PaymentContext,
  mint: Address,
  dollar: PinnedMint,
  amount: bigint,
  signal: AbortSignal | undefined,
): Promise<{ outAmount: bigint; impactBps: number | null } | undefined> {
  const intent = {
    inputMint: mint,
    outputMint: dollar.mint,
    swapMode: 'ExactIn',
    slippageBps: context.config.policy.maxSlippageBps,
  } as const;
  try {
    const quote = await context.prices.quote({ ...intent, amount: amount.toString() }, { signal });
    checkFields(quote);
    // An amount too small to sell for anything gives no valid quote, but it is an answer.
    if (parseAmount(quote.outAmount) === 0n) return { outAmount: 0n, impactBps: 0 };
    checkQuote(quote, { ...intent, amount });
    return { outAmount: BigInt(quote.outAmount), impactBps: quote.priceImpactBps };
  } catch (error) {
    if (isExactChangeError(error, 'no_route')) return undefined;
    throw error;
  }
}

function scale(amount: bigint, decimals: number): bigint {
  return decimals <= USD_DECIMALS
    ? amount * 10n ** BigInt(USD_DECIMALS - decimals)
    : amount / 10n ** BigInt(decimals - USD_DECIMALS);
}

function remember(context: PaymentContext, mint: Address, price: PriceSeen): void {
  const known = recentPricesOf(context, mint);
  const { prices } = context.memory;
  makeRoom(prices);
  prices.set(mint, [...known, price]);
}

export function recentPricesOf(context: PaymentContext, mint: Address): readonly PriceSeen[] {
  const since = context.config.runtime.now() - PRICE_MEMORY_MS;
  return (context.memory.prices.get(mint) ?? []).filter(({ at }) => at >= since);
}
