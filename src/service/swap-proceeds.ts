import { TransportError } from '../errors.js';
import type { PaymentContext } from '../payments/context.js';
import { decodeTokenAccount } from '../solana/tokens/decode.js';
import { findSwapped } from './records.js';

// Within this time a node that does not show a confirmed swap is behind. Later it may have pruned
// the swap.
const RECENT_MS = 120_000;

/**
 * Tells a planning context about the tokens that the wallet's recorded swaps brought. It reads the
 * balances from a node that has seen these swaps: a node that is behind would show less, and the
 * purchase would get another swap. Throws `rpc_unavailable` if every node is behind.
 */
export async function seeSwapProceeds(
  planning: PaymentContext,
  recorded: PaymentContext,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { rpc, ledger, config } = planning;
  const landed = await findSwapped(recorded);
  if (landed.length === 0) return;
  const at = config.runtime.now();
  const statuses = await rpc.statuses(
    landed.map(({ swap }) => swap.signature),
    { history: true, signal },
  );
  const seen = landed.filter((_, index) => statuses[index] !== null);
  if (landed.some((attempt) => !seen.includes(attempt) && at - attempt.at < RECENT_MS))
    throw behind();
  const outputs = [...new Set(seen.map(({ swap }) => swap.output))];
  if (outputs.length === 0) return;
  const minContextSlot = Math.max(...statuses.map((status) => status?.slot ?? 0));
  const { accounts, slot } = await rpc.accounts(outputs, { minContextSlot, signal });
  for (const [index, output] of outputs.entries()) {
    const account = accounts[index] ?? null;
    const amount = account === null ? undefined : decodeTokenAccount(account)?.amount;
    if (amount !== undefined) await ledger.see(output, { amount, at, slot });
  }
}

function behind(): TransportError {
  return new TransportError(
    'rpc_unavailable',
    'The node does not show a swap yet that is confirmed, so it is behind. Ask again in a moment.',
    { details: { method: 'getSignatureStatuses' } },
  );
}
