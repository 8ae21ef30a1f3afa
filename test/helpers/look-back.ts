import type { LandInput } from '../../src/solana/transactions/confirm.js';
import type { Rpc } from '../../src/solana/rpc/rpc.js';
import { firstSignature } from '../../src/solana/transactions/transaction.js';

/** What one node that forgets nothing says of a transaction whose last valid height is final. */
export function lookBackAt(rpc: Rpc, bytes: Uint8Array): LandInput['lookBack'] {
  return async (signal) => {
    const [status = null] = await rpc.statuses([firstSignature(bytes)], { history: true, signal });
    if (status === null) return { outcome: 'expired' };
    const { commitment, error, slot } = status;
    if (commitment === 'processed') return { outcome: 'unknown' };
    return error === null ? { outcome: 'confirmed', slot } : { outcome: 'failed', error, slot };
  };
}
