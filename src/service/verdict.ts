import { startDeadline, throwIfAborted } from '../internal/abort.js';
import type { PaymentContext } from '../payments/context.js';
import { earliestSlot, fateOf, type SentTransaction } from '../payments/reconcile/fate.js';
import { landingOf } from '../payments/reconcile/swap-end.js';
import type { Landing } from '../solana/transactions/confirm.js';
import { pastBalance } from './past-balance.js';
import type { SignedBytes } from './read-swap.js';

/**
 * The fate of a signed transaction, from the whole history of the nodes.
 *
 * - `open`: it may still land, as of the slot.
 * - `unknown`: it landed, or it can no longer land, but neither is certain yet.
 */
export type SwapState = Landing | { readonly outcome: 'open'; readonly slot: number };

const POLL_MS = 500;
// An HTTP caller does not wait long. If the swap is not decided by then, the caller asks again.
const SWAP_WAIT_MS = 20_000;

/**
 * Calls `look` for as long as a caller may wait, and returns undefined after that. Rejects with the
 * reason of the caller's signal.
 *
 * @param waited - Milliseconds that the caller has waited already.
 */
export async function withinCallerWait<T>(
  caller: AbortSignal | undefined,
  look: (signal: AbortSignal) => Promise<T>,
  waited = 0,
): Promise<T | undefined> {
  const deadline = startDeadline(Math.max(0, SWAP_WAIT_MS - waited), caller);
  try {
    const verdict = await look(deadline.signal);
    throwIfAborted(caller);
    return verdict;
  } catch (error) {
    if (deadline.passed) return undefined;
    throw error;
  } finally {
    deadline.end();
  }
}

/**
 * Asks the chain until the state is not `unknown`. Returns `unknown` if the signal ends the wait.
 * Rejects as the nodes do.
 */
export async function awaitSwapState(
  context: PaymentContext,
  signed: SignedBytes,
  signal: AbortSignal,
): Promise<SwapState> {
  const { rpc, config } = context;
  const { blockhash } = signed.decoded;
  // A node may not have seen the blockhash yet. Only a node that has reached this slot can say that
  // it is too old.
  const { slot: seenAt } = await rpc.isBlockhashValid(blockhash, { signal });
  for (;;) {
    const verdict = await askChain(context, signed, seenAt, signal);
    if (verdict.outcome !== 'unknown') return verdict;
    const isOver = await config.runtime.sleep(POLL_MS, signal).then(
      () => false,
      () => true,
    );
    if (isOver) return verdict;
  }
}

async function askChain(
  context: PaymentContext,
  signed: SignedBytes,
  seenAt: number,
  signal: AbortSignal,
): Promise<SwapState> {
  const { rpc, histories } = context;
  const { valid, slot } = await rpc.isBlockhashValid(signed.decoded.blockhash, { signal });
  if (valid) {
    // Ask last, and a node that has reached this slot: its history has all that landed until then.
    const [status = null] = await rpc.statuses([signed.signature], {
      history: true,
      minContextSlot: slot,
      signal,
    });
    if (status === null) return { outcome: 'open', slot };
  }
  const sent = await sentBytes(context, signed, seenAt, signal);
  return landingOf(await fateOf(histories, sent, signal));
}

/**
 * Describes a signed transaction for a search on the chain, from its bytes alone. The wallet pays
 * the fee, so a change of the wallet's lamports shows that the transaction landed.
 */
export async function sentBytes(
  context: PaymentContext,
  { signature, decoded }: SignedBytes,
  seenAt: number,
  signal: AbortSignal,
): Promise<SentTransaction> {
  const source = { account: context.config.signer.address, unit: 'lamports' } as const;
  const slot = earliestSlot(seenAt);
  return {
    ...{ signature, isId: true, source, slot, blockhash: decoded.blockhash, blockhashSlot: seenAt },
    before: await pastBalance(context, source, slot, signal),
    // The height is not known; the search relies on the blockhash.
    lastValidBlockHeight: -1n,
  };
}
