import { ceilDiv, parseAmount, WHOLE } from '../../amount.js';
import { cleanText, QuoteError } from '../../errors.js';
import { isRecord, type UnknownRecord } from '../../internal/record.js';
import type { QuoteIntent } from '../provider.js';
import type { SwapQuote } from '../types.js';

interface Numbers {
  readonly inAmount: bigint;
  readonly outAmount: bigint;
  readonly minOut: bigint;
  readonly maxIn: bigint;
}

// Base units: the service may round the other way.
const ROUNDING = 1n;

/**
 * Throws `quote_mismatch` unless a quote answers the intent. The bounds are computed again from the
 * quote's own amounts, whatever its source.
 */
export function checkQuote(quote: SwapQuote, intent: QuoteIntent): void {
  const reason = mismatch(quote, intent);
  if (reason !== undefined) throw quoteRefused(reason);
}

/**
 * Throws `quote_mismatch` unless each field of a quote has its declared type, because a transport
 * may answer anything.
 */
export function checkFields(quote: SwapQuote): void {
  const value: unknown = quote;
  if (isRecord(value) && FIELDS.every(([name, fits]) => fits(value[name]))) return;
  throw quoteRefused('a field of it is not what a quote has there');
}

export function quoteRefused(reason: string): QuoteError<'quote_mismatch'> {
  return new QuoteError('quote_mismatch', `The quote was refused: ${reason}. Quote again.`, {
    details: { reason },
  });
}

/** The most venues of a route that are shown. */
export const MAX_ROUTE = 50;

/** Returns a checked quote with a route that callers may show: the route is a service's text. */
export function cleanQuote(quote: SwapQuote): SwapQuote {
  return { ...quote, route: quote.route.slice(0, MAX_ROUTE).map(cleanText) };
}

const isName = (value: unknown): boolean =>
  typeof value === 'string' && /^[\x21-\x7e]{1,64}$/.test(value);
const isCount = (value: unknown): boolean =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0;
const isUnits = (value: unknown): boolean => parseAmount(value) !== undefined;

const FIELDS: readonly (readonly [keyof SwapQuote, (value: unknown) => boolean])[] = [
  ['inputMint', isName],
  ['outputMint', isName],
  ['provider', isName],
  ['inAmount', isUnits],
  ['outAmount', isUnits],
  ['minOutAmount', isUnits],
  ['maxInAmount', isUnits],
  ['quotedAt', isCount],
  // A swap at a better price than the market has an impact below zero.
  [
    'priceImpactBps',
    (value) => value === null || (typeof value === 'number' && Number.isFinite(value)),
  ],
  ['route', (value) => Array.isArray(value) && value.every((name) => typeof name === 'string')],
];

/**
 * Throws `price_impact_too_high` if the impact is above the limit. A quote with an unknown impact
 * passes, because the other bounds still hold.
 */
export function checkImpact({ priceImpactBps }: SwapQuote, limitBps: number): void {
  if (priceImpactBps === null || priceImpactBps <= limitBps) return;
  const message = `The swap would move the price by ${priceImpactBps} basis points; the limit is ${limitBps}. Swap less, or from another token.`;
  throw new QuoteError('price_impact_too_high', message, { details: { priceImpactBps, limitBps } });
}

function mismatch(quote: SwapQuote, intent: QuoteIntent): string | undefined {
  if (quote.inputMint !== intent.inputMint || quote.outputMint !== intent.outputMint)
    return 'it is for other tokens';
  if (quote.swapMode !== intent.swapMode) return 'it is for the other swap mode';
  if (quote.slippageBps !== intent.slippageBps) return 'its slippage is not what was asked for';
  // The type is 0, but a remote service may send anything.
  const fee: unknown = quote.platformFeeBps;
  if (fee !== 0 || (isRecord(quote.raw) && platformFeeOf(quote.raw) !== 0))
    return 'it carries a platform fee';
  const numbers = readNumbers(quote);
  if (numbers === undefined) return 'an amount in it is not a decimal string of base units';
  if (numbers.inAmount === 0n || numbers.outAmount === 0n) return 'it swaps nothing';
  return intent.swapMode === 'ExactIn'
    ? wrongExactIn(numbers, intent)
    : wrongExactOut(numbers, intent);
}

function wrongExactIn(
  { inAmount, outAmount, minOut, maxIn }: Numbers,
  { amount, slippageBps }: QuoteIntent,
): string | undefined {
  if (inAmount !== amount || maxIn !== amount) return 'it takes another amount than asked for';
  const least = leastOut(outAmount, slippageBps);
  if (minOut > outAmount || minOut + ROUNDING < least || minOut > least + ROUNDING)
    return 'its least output does not follow from its slippage';
  return undefined;
}

function wrongExactOut(
  { inAmount, outAmount, minOut, maxIn }: Numbers,
  { amount, slippageBps }: QuoteIntent,
): string | undefined {
  // Concentrated liquidity may pay out a little more than the intent asks for.
  if (outAmount < amount || minOut < amount || minOut > outAmount)
    return 'it pays out another amount than asked for';
  const most = mostIn(inAmount, slippageBps);
  if (maxIn < inAmount || maxIn > most + ROUNDING || maxIn + ROUNDING < most)
    return 'its most input does not follow from its slippage';
  return undefined;
}

function readNumbers(quote: SwapQuote): Numbers | undefined {
  const inAmount = parseAmount(quote.inAmount);
  const outAmount = parseAmount(quote.outAmount);
  const minOut = parseAmount(quote.minOutAmount);
  const maxIn = parseAmount(quote.maxInAmount);
  if (
    inAmount === undefined ||
    outAmount === undefined ||
    minOut === undefined ||
    maxIn === undefined
  )
    return undefined;
  return { inAmount, outAmount, minOut, maxIn };
}

/** Returns the platform fee of a quote in basis points; undefined if it cannot be read. */
export function platformFeeOf(raw: UnknownRecord): number | undefined {
  const fee = raw['platformFee'];
  if (fee === undefined || fee === null) return 0;
  if (!isRecord(fee)) return undefined;
  const bps = fee['feeBps'] ?? 0;
  const noAmount = fee['amount'] === undefined || fee['amount'] === null || fee['amount'] === '0';
  return typeof bps === 'number' && noAmount ? bps : undefined;
}

/** Returns the least output of an `ExactIn` swap: the quoted output less slippage, rounded down. */
export function leastOut(quotedOut: bigint, slippageBps: number): bigint {
  return (quotedOut * (WHOLE - BigInt(slippageBps))) / WHOLE;
}

/** Returns the most input of an `ExactOut` swap: the quoted input plus slippage, rounded up. */
export function mostIn(quotedIn: bigint, slippageBps: number): bigint {
  return ceilDiv(quotedIn * (WHOLE + BigInt(slippageBps)), WHOLE);
}
