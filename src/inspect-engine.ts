import { connectTo } from './config/connect.js';
import type { LocalSettings } from './config/options.js';
import type { SwapVerdict } from './swaps/firewall/verdict.js';
import { inspectWith, type InspectionBounds } from './swaps/inspect-swap.js';
import { swapDecoders } from './swaps/sources.js';
import { swapLimits } from './swaps/transaction/finish.js';

/** @internal The part of `inspectSwap` that its first call loads, because it needs web3.js. */
export async function inspectOver(
  settings: LocalSettings,
  transaction: unknown,
  bounds: InspectionBounds,
  signal: AbortSignal | undefined,
): Promise<SwapVerdict> {
  const { runtime, network, policy } = settings;
  const rpc = connectTo(settings);
  try {
    return await inspectWith(
      {
        ...{ rpc, runtime, network, limits: swapLimits(policy) },
        decoders: swapDecoders,
      },
      transaction,
      bounds,
      signal,
    );
  } finally {
    rpc.close();
  }
}
