/** Parameters of a swap's price. Prices are picodollars (1e-12 US dollars) per base unit. */
export interface Market {
  readonly inputPrice: bigint;
  readonly outputPrice: bigint;
  /** Spread that each swap loses, in basis points. */
  readonly spreadBps: bigint;
  /** Picodollars in the pool. A trade of this size gets half of the output at the price. */
  readonly depth: bigint;
  /** Price impact of any trade in basis points; if undefined, {@link depth} decides it. */
  readonly fixedImpactBps: bigint | undefined;
}

const BPS = 10_000n;

/** Returns the output for an input: the price less spread and impact, rounded down. */
export function outputFor(market: Market, inAmount: bigint): bigint {
  const value = inAmount * market.inputPrice;
  const [kept, of] = afterImpact(market, value);
  return (value * (BPS - market.spreadBps) * kept) / (market.outputPrice * BPS * of);
}

/** Returns the input that brings an exact output, rounded up; undefined if no input does. */
export function inputFor(market: Market, outAmount: bigint): bigint | undefined {
  const value = outAmount * market.outputPrice;
  const perSpread = BPS - market.spreadBps;
  if (market.fixedImpactBps !== undefined) {
    const kept = perSpread * (BPS - market.fixedImpactBps);
    return kept > 0n ? ceilDiv(value * BPS * BPS, market.inputPrice * kept) : undefined;
  }
  // With input value u: u * (BPS - spread) * depth = value * BPS * (depth + u), solved for u.
  const left = perSpread * market.depth - value * BPS;
  return left > 0n ? ceilDiv(value * BPS * market.depth, market.inputPrice * left) : undefined;
}

/** Returns the price impact as Jupiter writes it: a fraction from 0 to 1, as a decimal string. */
export function priceImpactPct(market: Market, inAmount: bigint): string {
  const [kept, of] = afterImpact(market, inAmount * market.inputPrice);
  return fraction(of - kept, of);
}

/** Returns the value of an input in US dollars, as a decimal string. */
export function usdValue(market: Market, inAmount: bigint): string {
  return fraction(inAmount * market.inputPrice, 10n ** 12n);
}

/**
 * Returns Jupiter's otherAmountThreshold: the least output (ExactIn) or the most input (ExactOut),
 * both rounded up.
 */
export function otherAmountThreshold(
  swapMode: 'ExactIn' | 'ExactOut',
  quoted: bigint,
  slippageBps: bigint,
): bigint {
  return ceilDiv(quoted * (swapMode === 'ExactIn' ? BPS - slippageBps : BPS + slippageBps), BPS);
}

/** Returns the share of a value that is left after the price impact, as a fraction. */
function afterImpact(market: Market, value: bigint): readonly [bigint, bigint] {
  return market.fixedImpactBps === undefined
    ? [market.depth, market.depth + value]
    : [BPS - market.fixedImpactBps, BPS];
}

function ceilDiv(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b;
}

/** Formats a fraction as a decimal string with at most 12 places. */
function fraction(a: bigint, b: bigint): string {
  const digits = ((a * 10n ** 12n) / b).toString().padStart(13, '0');
  return `${digits.slice(0, -12)}.${digits.slice(-12)}`.replace(/\.?0+$/, '');
}
