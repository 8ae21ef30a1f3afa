import { ceilDiv, USD_DECIMALS } from '../../amount.js';
import { pinnedMint } from '../../network.js';
import type { Address } from '../../solana/types.js';
import type { PaymentContext } from '../context.js';
import { swapEngine } from '../on-demand.js';

/** Values base units of a mint, in millionths of a dollar. */
export interface UsdPrice {
  /**
   * Values tokens that leave the wallet, as caps count them: rounded up. Adds a market's spread to
   * the selling price of a token that is no dollar.
   */
  most(amount: bigint): bigint;
  /** Values tokens at the selling price, rounded up. */
  about(amount: bigint): bigint;
  /** Values tokens that arrive, rounded down. */
  least(amount: bigint): bigint;
  /** Returns the most base units that are worth no more than so many millionths of a dollar. */
  amountOf(microUsd: bigint): bigint;
}

const MICRO_USD = 10n ** BigInt(USD_DECIMALS);

/**
 * Returns the value of an amount in millionths of a dollar, rounded up. Pinned dollar tokens count
 * at par, other tokens by a quote to a dollar token. Undefined if there is no price; rejects if
 * Jupiter does not answer.
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
  const { usdPriceOf } = await swapEngine(signal);
  return (await usdPriceOf(context, mint, signal, decimals))?.most(amount);
}

export function atPar(decimals: number): UsdPrice {
  const oneToken = 10n ** BigInt(decimals);
  const most = (amount: bigint) => ceilDiv(amount * MICRO_USD, oneToken);
  return {
    most,
    about: most,
    least: (amount) => (amount * MICRO_USD) / oneToken,
    amountOf: (microUsd) => (microUsd * oneToken) / MICRO_USD,
  };
}
