import { isExactChangeError } from '../errors.js';
import { pinnedMints, WSOL_MINT } from '../network.js';
import { fetchLookupTables } from '../swaps/firewall/tables.js';
import { TOKEN_ACCOUNT_BYTES } from '../swaps/transaction/read-facts.js';
import type { PaymentContext } from './context.js';
import { buildFor } from './plan/swap-build.js';
import { quoteForPayment } from './plan/swap-quote.js';
import { usdPriceOf } from './plan/usd-price.js';

/**
 * Asks for what most swaps have in common, by one from SOL that is never made: prices, rents, and
 * lookup tables. What cannot be had of it now is asked again when it is needed.
 */
export async function warmSwap(context: PaymentContext): Promise<void> {
  const { network, policy } = context.config;
  const outputMint = pinnedMints(network).find(({ dollar }) => dollar);
  if (outputMint === undefined) return;
  try {
    const price = await usdPriceOf(context, outputMint.mint, undefined);
    const request = {
      inputMint: WSOL_MINT,
      outputMint: outputMint.mint,
      amount: (price?.amountOf(policy.minSwap) ?? 0n).toString(),
      swapMode: 'ExactOut' as const,
      slippageBps: policy.maxSlippageBps,
    };
    const [quote] = await Promise.all([
      quoteForPayment(context, request, undefined),
      ...[0, TOKEN_ACCOUNT_BYTES].map((bytes) => context.rpc.rent(bytes)),
    ]);
    const { lookupTables } = await buildFor(context, quote, undefined, undefined);
    await fetchLookupTables(context.rpc, lookupTables);
  } catch (error) {
    if (!isExactChangeError(error)) throw error;
  }
}
