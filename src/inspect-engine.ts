import type { LocalSettings } from './config.js';
import { connectTo } from './connect.js';
import type { SwapTerms } from './swap/firewall/inspect.js';
import type { SwapVerdict } from './swap/firewall/verdict.js';
import { swapLimits } from './swap/finish.js';
import { inspectWith } from './swap/inspect-swap.js';

/** @internal What `inspectSwap` loads, web3.js among it, when it is first called. */
export async function inspectOver(
  settings: LocalSettings,
  transaction: unknown,
  bounds: Omit<SwapTerms, 'maxPriorityFee'>,
  signal: AbortSignal | undefined,
): Promise<SwapVerdict> {
  const { runtime, network, policy } = settings;
  const rpc = connectTo(settings);
  try {
    return await inspectWith({ rpc, runtime, network, limits: swapLimits(policy) }, transaction, bounds, signal);
  } finally {
    rpc.close();
  }
}
