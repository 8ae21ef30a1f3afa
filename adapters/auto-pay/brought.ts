import type { Core } from '../../src/autopay/core.js';
import { ownerOf } from '../../src/autopay/owner.js';
import { TransportError } from '../../src/errors.js';
import { decodeTokenAccount } from '../../src/solana/accounts.js';
import { hasSwap } from './records.js';

// For so long a node that does not show a swap that is confirmed is behind; later it may have forgotten it.
const RECENT_MS = 120_000;

/**
 * Tells a core that plans what the wallet's swaps on record have brought, read where they have landed already: a node that is behind would show
 * less, and have one more swap made for the same purchase. Throws `rpc_unavailable` where every node is behind.
 */
export async function seeBrought(planning: Core, { journal }: Pick<Core, 'journal'>, signal: AbortSignal | undefined): Promise<void> {
  const { rpc, ledger, config } = planning;
  for await (const attempt of journal.attempts(ownerOf(planning), { state: 'reserved' })) {
    if (!hasSwap(attempt) || attempt.swap.outcome?.state !== 'confirmed') continue;
    const { signature, output } = attempt.swap;
    const at = config.runtime.now();
    const [status = null] = await rpc.statuses([signature], { history: true, signal });
    if (status === null && at - attempt.at < RECENT_MS) throw behind();
    if (status === null) continue;
    const read = await rpc.accounts([output], { minContextSlot: status.slot, signal });
    const [account = null] = read.accounts;
    const amount = account === null ? undefined : decodeTokenAccount(account)?.amount;
    if (amount !== undefined) await ledger.see(output, { amount, at, slot: read.slot });
  }
}

function behind(): TransportError {
  return new TransportError(
    'rpc_unavailable',
    'The node does not show a swap yet that is confirmed, so it is behind. Ask again in a moment.',
    {
      details: { method: 'getSignatureStatuses' },
    },
  );
}
