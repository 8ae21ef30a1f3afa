import { ceilDiv, USD_DECIMALS } from '../../amount.js';
import { pinnedMint } from '../../network.js';
import type { Address } from '../../solana/types.js';
import type { PaymentContext } from '../context.js';
import { swapEngine } from '../on-demand.js';

/** What base units of one mint are worth, in millionths of a dollar. */
export interface UsdPrice {
  /**
   * What leaves the wallet, as caps count it: rounded up, and a token that is no dollar above its
   * selling price by the spread of its market.
   */
  most(amount: bigint): bigint;
  /** At the selling price, rounded up. */
  about(amount: bigint): bigint;
  /** What arrives, rounded down. */
  least(amount: bigint): bigint;
  /** Base units that are worth so many millionths of a dollar. */
  amountOf(microUsd: bigint): bigint;
}

const MICRO_USD = 10n ** BigInt(USD_DECIMALS);

/**
 * What an amount is worth in millionths of a dollar, rounded up: par for pinned dollar tokens, a
 * quote to one of them for others.
 * Undefined if there is no price; rejects if Jupiter could not be asked.
 */
export async function usdValueOf(
  context: PaymentContext,
  mint: Address,
  amount: bigint,
  decimals: number,
  signal: AbortSignal | undefined,
): Promise<bigint | undefined> {
  const pinned = pinnedMint(context.config.network, mint);
  if (pinned?.dollar === true) return atPar(pinned.decimals).most(amount);
  const { usdPriceOf } = await swapEngine('untouched', signal);
  return (await usdPriceOf(context, mint, signal, decimals))?.most(amount);
}

/** What a dollar token is worth. */
export function atPar(decimals: number): UsdPrice {
  const one = 10n ** BigInt(decimals);
  const most = (amount: bigint) => ceilDiv(amount * MICRO_USD, one);
  return {
    most,
    about: most,
    least: (amount) => (amount * MICRO_USD) / one,
    amountOf: (microUsd) => ceilDiv(microUsd * one, MICRO_USD),
  };
}
