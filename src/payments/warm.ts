import { pinnedMints } from '../network.js';
import type { PaymentContext } from './context.js';
import { readHoldings } from './plan/holdings.js';
import { swapEngine } from './on-demand.js';

/** Does ahead what the first payment would do, and the first swap if there may be one. */
export async function warm(context: PaymentContext): Promise<void> {
  const { network, autoSwap } = context.config;
  const warmSwap = async () => (await swapEngine()).warmSwap(context);
  await Promise.all([
    context.ready(),
    context.blockhashes.recent(),
    readHoldings(context, pinnedMints(network), undefined),
    ...(autoSwap ? [warmSwap()] : []),
  ]);
}
