import { ceilDiv, U64_MAX } from '../../amount.js';
import { isExactChangeError } from '../../errors.js';
import { isLowPriority, throwIfAborted, untilAborted } from '../../internal/abort.js';
import { sinceThen } from '../../internal/runtime.js';
import { pinnedMint } from '../../network.js';
import type { Address } from '../../solana/types.js';
import type { PaymentContext } from '../context.js';
import type { PriceSeen } from '../memory.js';
import { recent, searchPrice } from './ask-price.js';
import { atPar, type UsdPrice } from './usd-value.js';

// What a token costs to buy is above what it sells for by the spread of its market, which no quote
// tells.
const SPREAD_BPS = 100n;
const WHOLE = 10_000n;

// Caps bound spending, they do not trade: a price of the last minute will do.
const PRICE_MAX_AGE_MS = 60_000;

/**
 * What a mint is worth: its selling price for an amount of our own choosing. A seller chooses the
 * amount that it asks for, and the price of a huge or tiny amount is not that of another one. A
 * large amount sells for less than this says, which is the safe side.
 *
 * @param decimals - Where the search for a fair amount starts, if they are known.
 * @param maxAgeMs - How old a price may be.
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
 * `policy.minSwap` in base units of a mint; 0 if the mint is not pinned or has no price, or no
 * account could hold so much of it.
 */
export async function floatOf(
  context: PaymentContext,
  mint: Address,
  decimals: number,
  signal: AbortSignal | undefined,
): Promise<bigint> {
  if (pinnedMint(context.config.network, mint) === undefined) return 0n;
  const float =
    (await usdPriceOf(context, mint, signal, decimals))?.amountOf(context.config.policy.minSwap) ??
    0n;
  return float > U64_MAX ? 0n : float;
}

/** Whether the next call with a mint has to ask for its price, with no other that asks already. */
export function isPriceUnknown(
  context: PaymentContext,
  mint: Address,
  signal: AbortSignal | undefined,
): boolean {
  return (
    knownUsdPriceOf(context, mint) === undefined &&
    !isUnpriced(context, mint) &&
    !context.memory.pricesAsked.has(nameOf(mint, signal))
  );
}

function isUnpriced({ memory, config }: PaymentContext, mint: Address): boolean {
  const foundAt = memory.unpriced.get(mint);
  return foundAt !== undefined && sinceThen(config.runtime, foundAt) <= PRICE_MAX_AGE_MS;
}

/** The price of a mint, if no quote is needed for it. */
function knownUsdPriceOf(
  context: PaymentContext,
  mint: Address,
  maxAgeMs = PRICE_MAX_AGE_MS,
): UsdPrice | undefined {
  const { network, runtime } = context.config;
  const pinned = pinnedMint(network, mint);
  if (pinned?.dollar === true) return atPar(pinned.decimals);
  const last = lastOf(recent(context, mint));
  return last === undefined || sinceThen(runtime, last.at) > maxAgeMs
    ? undefined
    : worthAt(last, lowsOf(context, mint));
}

/** No seller moves the price of a pinned token. */
function lowsOf(context: PaymentContext, mint: Address): readonly PriceSeen[] {
  return pinnedMint(context.config.network, mint) === undefined ? recent(context, mint) : [];
}

/**
 * What arrives counts by the lowest price of the last minutes: a payment is counted before its
 * swap, and a seller that moves the price of its own token in between could have the caps count
 * little and the swap take much.
 */
function worthAt(last: PriceSeen, known: readonly PriceSeen[]): UsdPrice {
  const low = known.reduce(
    (a, b) => (b.microUsd * a.reference < a.microUsd * b.reference ? b : a),
    last,
  );
  // The quote was rounded down.
  const about = (amount: bigint) => ceilDiv(amount * (last.microUsd + 1n), last.reference);
  return {
    most: (amount) => ceilDiv(about(amount) * (WHOLE + SPREAD_BPS), WHOLE),
    about,
    least: (amount) => (amount * low.microUsd) / low.reference,
    amountOf: (microUsd) => ceilDiv(microUsd * last.reference, last.microUsd),
  };
}

/**
 * Calls that ask for a price at the same time share its quotes, unless the first of them gives up.
 */
async function searchTogether(
  context: PaymentContext,
  mint: Address,
  decimals: number | undefined,
  signal: AbortSignal | undefined,
): Promise<PriceSeen | undefined> {
  const { pricesAsked } = context.memory;
  const name = nameOf(mint, signal);
  for (let other = pricesAsked.get(name); other !== undefined; other = pricesAsked.get(name)) {
    try {
      return await untilAborted(other, signal);
    } catch (error) {
      throwIfAborted(signal);
      if (isExactChangeError(error)) throw error;
    }
  }
  const own = searchPrice(context, mint, decimals, signal).finally(() => pricesAsked.delete(name));
  pricesAsked.set(name, own);
  return own;
}

/** Questions that give way to others are no help to one that does not. */
function nameOf(mint: Address, signal: AbortSignal | undefined): string {
  return isLowPriority(signal) ? `${mint} at low priority` : mint;
}

function lastOf(known: readonly PriceSeen[]): PriceSeen | undefined {
  return known[known.length - 1];
}
