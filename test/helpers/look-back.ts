import type { LandInput } from '../../src/solana/transactions/confirm.js';
import type { Rpc } from '../../src/solana/rpc/rpc.js';
import { firstSignature } from '../../src/solana/transactions/transaction.js';

/**
 * Returns a look-back that asks a single node with full history about a transaction. Use it when
 * the last valid block height is final.
 */
export function lookBackAt(rpc: Rpc, bytes: Uint8Array): LandInput['lookBack'] {
  return async (signal) => {
    const [status = null] = await rpc.statuses([firstSignature(bytes)], { history: true, signal });
    if (status === null) return { outcome: 'expired' };
    const { commitment, error, slot } = status;
    if (commitment === 'processed') return { outcome: 'unknown' };
    return error === null ? { outcome: 'confirmed', slot } : { outcome: 'failed', error, slot };
  };
}
