import { mintsPinnedOn } from '../network.js';
import type { PaymentContext } from './context.js';
import { readHoldings } from './plan/holdings.js';
import { swapEngine } from './on-demand.js';

/** Makes the reads of the first payment ahead of time; of the first swap too, if swaps are on. */
export async function warm(context: PaymentContext): Promise<void> {
  const { network, autoSwap } = context.config;
  const warmSwap = async () => (await swapEngine()).warmSwap(context);
  await Promise.all([
    context.ready(),
    context.blockhashes.recent(),
    readHoldings(context, mintsPinnedOn(network), undefined),
    ...(autoSwap ? [warmSwap()] : []),
  ]);
}
