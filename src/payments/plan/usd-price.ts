import { ceilDiv, U64_MAX, WHOLE } from '../../amount.js';
import { isExactChangeError } from '../../errors.js';
import { isLowPriority, throwIfAborted, untilAborted } from '../../internal/abort.js';
import { sinceThen } from '../../internal/runtime.js';
import { pinnedMint } from '../../network.js';
import type { Address } from '../../solana/types.js';
import type { PaymentContext } from '../context.js';
import type { PriceSeen } from '../memory.js';
import { recentPricesOf, searchPrice } from './ask-price.js';
import { atPar, type UsdPrice } from './usd-value.js';

// A token's buying price is above its selling price by its market's spread, which no quote shows.
const SPREAD_BPS = 100n;

// A price of the last minute suffices for caps, because they bound spending and do not trade.
const PRICE_MAX_AGE_MS = 60_000;

// A pinned token without a route soon has one again, and payments that only count fees need none.
const PINNED_WITHOUT_MS = 5_000;

/**
 * Returns a mint's value by its selling price for an amount that this library chooses; undefined if
 * the mint has no price. The seller's amount is not used, because a huge or tiny amount has a
 * distorted price. A large amount sells for less than this value, which is the safe side.
 *
 * @param decimals - The mint's decimals, if known: the search for a fair amount starts there.
 * @param maxAgeMs - The most milliseconds that a known price may be old.
 */
export async function usdPriceOf(
  context: PaymentContext,
  mint: Address,
  signal: AbortSignal | undefined,
  decimals?: number,
  maxAgeMs = PRICE_MAX_AGE_MS,
): Promise<UsdPrice | undefined> {
  const known = knownUsdPriceOf(context, mint, maxAgeMs);
  if (known !== undefined || isUnpriced(context, mint)) return known;
  const price = await searchTogether(context, mint, decimals, signal);
  return price === undefined ? undefined : worthAt(price, lowsOf(context, mint));
}

/**
 * Returns `policy.minSwap` in base units of a mint. Returns 0 if the mint is not pinned or has no
 * price, or if the amount exceeds a token account's maximum.
 */
export async function minSwapOf(
  context: PaymentContext,
  mint: Address,
  decimals: number,
  signal: AbortSignal | undefined,
): Promise<bigint> {
  if (pinnedMint(context.config.network, mint) === undefined) return 0n;
  const amount =
    (await usdPriceOf(context, mint, signal, decimals))?.amountOf(context.config.policy.minSwap) ??
    0n;
  return amount > U64_MAX ? 0n : amount;
}

/** Returns whether a call would be the first to request a mint's price now. */
export function isPriceUnknown(
  context: PaymentContext,
  mint: Address,
  signal: AbortSignal | undefined,
): boolean {
  return (
    knownUsdPriceOf(context, mint) === undefined &&
    !isUnpriced(context, mint) &&
    !context.memory.pricesAsked.has(keyOf(mint, signal))
  );
}

function isUnpriced({ memory, config }: PaymentContext, mint: Address): boolean {
  const foundAt = memory.unpriced.get(mint);
  const { runtime, network } = config;
  const ms = pinnedMint(network, mint) === undefined ? PRICE_MAX_AGE_MS : PINNED_WITHOUT_MS;
  return foundAt !== undefined && sinceThen(runtime, foundAt) <= ms;
}

/** Returns a mint's price if it needs no quote: par for dollar tokens, or a recent price. */
function knownUsdPriceOf(
  context: PaymentContext,
  mint: Address,
  maxAgeMs = PRICE_MAX_AGE_MS,
): UsdPrice | undefined {
  const { network, runtime } = context.config;
  const pinned = pinnedMint(network, mint);
  if (pinned?.dollar === true) return atPar(pinned.decimals);
  const recent = recentPricesOf(context, mint);
  const last = recent[recent.length - 1];
  return last === undefined || sinceThen(runtime, last.at) > maxAgeMs
    ? undefined
    : worthAt(last, lowsOf(context, mint));
}

/** Returns a mint's recent prices; none for a pinned mint, because no seller can move its price. */
function lowsOf(context: PaymentContext, mint: Address): readonly PriceSeen[] {
  return pinnedMint(context.config.network, mint) === undefined
    ? recentPricesOf(context, mint)
    : [];
}

/**
 * Returns the value of a mint at its last price. Tokens that arrive count at the lowest recent
 * price. Caps count a payment before its swap, so a seller that raises its own token's price in
 * between could make the swap take more than the caps count.
 */
function worthAt(last: PriceSeen, recentPrices: readonly PriceSeen[]): UsdPrice {
  const low = recentPrices.reduce(
    (a, b) => (b.microUsd * a.reference < a.microUsd * b.reference ? b : a),
    last,
  );
  // Add a millionth of a dollar, because the quote was rounded down.
  const about = (amount: bigint) => ceilDiv(amount * (last.microUsd + 1n), last.reference);
  return {
    most: (amount) => ceilDiv(about(amount) * (WHOLE + SPREAD_BPS), WHOLE),
    about,
    least: (amount) => (amount * low.microUsd) / low.reference,
    amountOf: (microUsd) => (microUsd * last.reference) / last.microUsd,
  };
}

/**
 * Searches a mint's price. Concurrent calls share the search; if its first caller gives up, a
 * waiting call starts a new search.
 */
async function searchTogether(
  context: PaymentContext,
  mint: Address,
  decimals: number | undefined,
  signal: AbortSignal | undefined,
): Promise<PriceSeen | undefined> {
  const { pricesAsked } = context.memory;
  const key = keyOf(mint, signal);
  for (let other = pricesAsked.get(key); other !== undefined; other = pricesAsked.get(key)) {
    try {
      return await untilAborted(other, signal);
    } catch (error) {
      throwIfAborted(signal);
      if (isExactChangeError(error)) throw error;
    }
  }
  const own = searchPrice(context, mint, decimals, signal).finally(() => pricesAsked.delete(key));
  pricesAsked.set(key, own);
  return own;
}

/** Low-priority searches have a key of their own, because they would delay other calls. */
function keyOf(mint: Address, signal: AbortSignal | undefined): string {
  return isLowPriority(signal) ? `${mint} at low priority` : mint;
}
