import { isExactChangeError } from '../errors.js';
import { mintsPinnedOn, WSOL_MINT } from '../network.js';
import { fetchLookupTables } from '../swaps/firewall/tables.js';
import { ACCOUNT_BYTES } from '../solana/tokens/accounts.js';
import type { PaymentContext } from './context.js';
import { requestFor } from './plan/ask-ahead.js';
import { buildFor } from './plan/swap-build.js';
import { quoteForPayment } from './plan/swap-quote.js';
import { usdPriceOf } from './plan/usd-price.js';

/**
 * Reads prices, rents and lookup tables ahead of time, which most swaps share. It plans a swap from
 * SOL for that, and never makes it. A read that fails is made again when a swap needs it.
 */
export async function warmSwap(context: PaymentContext): Promise<void> {
  const { network, policy } = context.config;
  const outputMint = mintsPinnedOn(network).find(({ dollar }) => dollar);
  if (outputMint === undefined) return;
  try {
    const price = await usdPriceOf(context, outputMint.mint, undefined);
    const amount = price?.amountOf(policy.minSwap) ?? 0n;
    const request = requestFor(context, { mint: WSOL_MINT }, outputMint.mint, amount);
    const [quote] = await Promise.all([
      quoteForPayment(context, request, undefined),
      ...[0, ACCOUNT_BYTES].map((bytes) => context.rpc.rent(bytes)),
    ]);
    const { lookupTables } = await buildFor(context, quote, undefined, undefined);
    await fetchLookupTables(context.rpc, lookupTables);
  } catch (error) {
    if (!isExactChangeError(error)) throw error;
  }
}
