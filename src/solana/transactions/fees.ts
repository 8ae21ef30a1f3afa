import type { CallOptions, Rpc } from '../rpc/rpc.js';
import type { Address } from '../types.js';

/** The most accounts that the node takes in one question. */
const MAX_ACCOUNTS = 128;
const PERCENTILE = 75;

/**
 * Micro-lamports per compute unit that win three quarters of the recent races for these writable
 * accounts; at least 1.
 */
export async function estimateComputeUnitPrice(
  rpc: Rpc,
  writable: readonly Address[],
  options?: CallOptions,
): Promise<bigint> {
  const fees = await rpc.priorityFees(writable.slice(0, MAX_ACCOUNTS), options);
  const sorted = [...fees].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const chosen = sorted[Math.ceil((sorted.length * PERCENTILE) / 100) - 1] ?? 0n;
  return chosen > 1n ? chosen : 1n;
}
