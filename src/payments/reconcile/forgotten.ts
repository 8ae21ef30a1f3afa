import type { PaymentContext } from '../context.js';
import type { Sent } from './fate.js';

// A blockhash lasts for a minute or two; after a day only history is left to be asked about.
const FORGOTTEN_MS = 24 * 60 * 60_000;

/** A day of blocks, and of slots. */
const FORGOTTEN_BLOCKS = 216_000;

/**
 * Whether no node can be expected to remember a transaction, and nothing of it can still land:
 * clocks jump, and a node may be wrong in a number, but not in two.
 *
 * @param at - When it was made. Milliseconds since the epoch.
 */
export async function isForgotten(
  { histories, config, closing }: PaymentContext,
  at: number,
  { source, slot, lastValidBlockHeight }: Pick<Sent, 'source' | 'slot' | 'lastValidBlockHeight'>,
): Promise<boolean> {
  if (config.runtime.now() - at <= FORGOTTEN_MS) return false;
  const height = lastValidBlockHeight + BigInt(FORGOTTEN_BLOCKS);
  const tips = histories.of(source).map(async (node) => (await node.history()).tip(closing.signal));
  return (await Promise.allSettled(tips)).every(
    (tip) =>
      tip.status === 'fulfilled' &&
      tip.value.height > height &&
      tip.value.slot > slot + FORGOTTEN_BLOCKS,
  );
}
