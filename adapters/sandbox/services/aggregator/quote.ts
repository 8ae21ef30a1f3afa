import type { Address } from '@solana/kit';
import type { Markets, SwapMode } from './markets.js';
import { inputFor, otherAmountThreshold, outputFor, priceImpactPct, usdValue } from './pricing.js';
import { badParameter, noRoutes, Refusal } from './problems.js';

export const VENUE_LABEL = 'Sandbox Venue';
const U64_MAX = (1n << 64n) - 1n;

/** The parameters that `/swap/v1/quote` and `/swap/v2/build` share. */
export interface QuoteQuery {
  readonly inputMint: string;
  readonly outputMint: string;
  readonly amount: bigint;
  readonly swapMode: SwapMode;
  readonly slippageBps: number;
  readonly platformFeeBps: number;
  readonly instructionVersion: 'V1' | 'V2';
}

/** A step of a route, as Jupiter writes it. */
export interface RouteStep {
  readonly swapInfo: {
    readonly ammKey: string;
    readonly label: string;
    readonly inputMint: string;
    readonly outputMint: string;
    readonly inAmount: string;
    readonly outAmount: string;
  };
  readonly percent: number | null;
  readonly bps: number;
}

/** Jupiter's QuoteResponse: the fields of its schema, then additional fields of live answers. */
export interface QuoteResponse {
  readonly inputMint: string;
  readonly inAmount: string;
  readonly outputMint: string;
  readonly outAmount: string;
  readonly otherAmountThreshold: string;
  readonly swapMode: SwapMode;
  readonly slippageBps: number;
  readonly platformFee: { readonly amount: string; readonly feeBps: number } | null;
  readonly priceImpactPct: string;
  readonly routePlan: readonly RouteStep[];
  readonly contextSlot: number;
  readonly timeTaken: number;
  readonly instructionVersion: 'V1' | 'V2';
  readonly swapUsdValue: string;
  readonly simplerRouteUsed: boolean;
  readonly mostReliableAmmsQuoteReport: null;
  readonly useIncurredSlippageForQuoting: null;
  readonly otherRoutePlans: null;
  readonly loadedLongtailToken: boolean;
}

/** Reads the query of a quote. Throws a refusal if Jupiter refuses the query. */
export function readQuoteQuery(query: URLSearchParams): QuoteQuery {
  const swapMode = query.get('swapMode') ?? 'ExactIn';
  if (swapMode !== 'ExactIn' && swapMode !== 'ExactOut')
    throw badParameter('swapMode', `unknown variant, expected ExactIn or ExactOut`);
  const version = query.get('instructionVersion') ?? 'V1';
  if (version !== 'V1' && version !== 'V2')
    throw badParameter('instructionVersion', 'unknown variant, expected V1 or V2');
  const amount = required(query, 'amount');
  if (!/^\d{1,20}$/.test(amount) || BigInt(amount) > U64_MAX)
    throw badParameter('amount', 'invalid digit found in string');
  const dexes = query.get('dexes')?.split(',');
  if (
    (dexes !== undefined && !dexes.includes(VENUE_LABEL)) ||
    query.get('excludeDexes')?.split(',').includes(VENUE_LABEL) === true
  )
    throw noRoutes();
  return {
    inputMint: required(query, 'inputMint'),
    outputMint: required(query, 'outputMint'),
    amount: BigInt(amount),
    swapMode,
    slippageBps: bps(query, 'slippageBps', 50),
    platformFeeBps: bps(query, 'platformFeeBps', 0),
    instructionVersion: version,
  };
}

/** Quotes a swap at the market's price. */
export function quote(
  query: QuoteQuery,
  markets: Markets,
  pool: { readonly ammKey: Address; readonly slot: bigint },
): QuoteResponse {
  const { market } = markets.find(query.inputMint, query.outputMint, query.swapMode);
  const exactIn = query.swapMode === 'ExactIn';
  const inAmount = exactIn ? query.amount : inputFor(market, query.amount);
  if (inAmount === undefined) throw noRoutes();
  const gross = exactIn ? outputFor(market, inAmount) : query.amount;
  // A requested platform fee reduces the output (ExactIn) or increases the input (ExactOut).
  const fee = ((exactIn ? gross : inAmount) * BigInt(query.platformFeeBps)) / 10_000n;
  const outAmount = exactIn ? gross - fee : gross;
  const paid = exactIn ? inAmount : inAmount + fee;
  if (outAmount === 0n || paid === 0n || paid > U64_MAX) throw noRoutes();
  const threshold = otherAmountThreshold(
    query.swapMode,
    exactIn ? outAmount : paid,
    BigInt(query.slippageBps),
  );
  return {
    inputMint: query.inputMint,
    inAmount: paid.toString(),
    outputMint: query.outputMint,
    outAmount: outAmount.toString(),
    otherAmountThreshold: threshold.toString(),
    swapMode: query.swapMode,
    slippageBps: query.slippageBps,
    platformFee:
      query.platformFeeBps === 0 ? null : { amount: fee.toString(), feeBps: query.platformFeeBps },
    priceImpactPct: priceImpactPct(market, inAmount),
    routePlan: [
      {
        swapInfo: {
          ammKey: pool.ammKey,
          label: VENUE_LABEL,
          inputMint: query.inputMint,
          outputMint: query.outputMint,
          inAmount: paid.toString(),
          outAmount: outAmount.toString(),
        },
        percent: query.instructionVersion === 'V2' ? null : 100,
        bps: 10_000,
      },
    ],
    contextSlot: Number(pool.slot),
    timeTaken: 0.001,
    instructionVersion: query.instructionVersion,
    swapUsdValue: usdValue(market, inAmount),
    simplerRouteUsed: false,
    mostReliableAmmsQuoteReport: null,
    useIncurredSlippageForQuoting: null,
    otherRoutePlans: null,
    loadedLongtailToken: false,
  };
}

function required(query: URLSearchParams, name: string): string {
  const value = query.get(name);
  if (value === null || value === '')
    throw new Refusal(
      'BAD_REQUEST',
      `Failed to deserialize query string: missing field \`${name}\``,
    );
  return value;
}

function bps(query: URLSearchParams, name: string, fallback: number): number {
  const value = query.get(name);
  if (value === null) return fallback;
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535)
    throw badParameter(name, 'invalid digit found in string');
  if (Number(value) > 10_000)
    throw new Refusal(
      'CANNOT_COMPUTE_OTHER_AMOUNT_THRESHOLD',
      'Cannot compute other amount threshold',
    );
  return Number(value);
}
