import { TransportError } from '../errors.js';
import type { PaymentContext } from '../payments/context.js';
import type { CallOptions } from '../solana/rpc/rpc.js';
import { findSwapped } from './records.js';

// Within this time a node that does not show a confirmed swap is behind. Later it may have pruned
// the swap.
const RECENT_MS = 120_000;

/**
 * Returns a context that reads accounts as of a slot in which a swap landed, or later: a node that
 * is behind would show less, and the purchase would get another swap. A read throws
 * `rpc_unavailable` if every node is behind.
 */
export function asOf(context: PaymentContext, slot: number): PaymentContext {
  if (slot === 0) return context;
  const { rpc } = context;
  const since = (call?: CallOptions) => ({
    minContextSlot: Math.max(slot, call?.minContextSlot ?? 0),
  });
  return {
    ...context,
    rpc: {
      ...rpc,
      accounts: (addresses, call) => rpc.accounts(addresses, { ...call, ...since(call) }),
      tokenAccounts: (owner, call) => rpc.tokenAccounts(owner, { ...call, ...since(call) }),
    },
  };
}

/**
 * Returns the slot in which the last of the wallet's recorded swaps landed; 0 without such a swap.
 * Throws `rpc_unavailable` if the node does not show one of them yet.
 */
export async function slotOfSwaps(
  recorded: PaymentContext,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { rpc, config } = recorded;
  const landed = await findSwapped(recorded);
  if (landed.length === 0) return 0;
  const at = config.runtime.now();
  const statuses = await rpc.statuses(
    landed.map(({ swap }) => swap.signature),
    { history: true, signal },
  );
  if (landed.some((attempt, index) => !statuses[index] && at - attempt.at < RECENT_MS))
    throw behind();
  return Math.max(...statuses.map((status) => status?.slot ?? 0));
}

function behind(): TransportError {
  return new TransportError(
    'rpc_unavailable',
    'The node does not show a swap yet that is confirmed, so it is behind. Ask again in a moment.',
    { details: { method: 'getSignatureStatuses' } },
  );
}
