import { startDeadline, throwIfAborted } from '../internal/abort.js';
import type { PaymentContext } from '../payments/context.js';
import { fateOf, SLOT_MARGIN, type Sent } from '../payments/reconcile/fate.js';
import { pastBalance } from './past-balance.js';
import type { SignedBytes } from './read-swap.js';

/**
 * What the chain shows of a signed transaction, far back too. `expired`: it is not there, and its
 * blockhash is too old for any block to come.
 * `open`: it may land yet, as of the slot. `waiting`: no block may have it any more, or one has it,
 * and neither is certain yet.
 */
export type SwapState =
  | { readonly state: 'confirmed' }
  | { readonly state: 'failed'; readonly reason: string }
  | { readonly state: 'expired' }
  | { readonly state: 'open'; readonly slot: number }
  | { readonly state: 'waiting' };

const POLL_MS = 500;
// An HTTP caller does not wait for long; what is not decided by then is asked for again.
export const SWAP_WAIT_MS = 20_000;

/**
 * Looks for a verdict for as long as a caller is kept waiting: `waiting` if there is none by
 * then. Rejects with the reason of the caller's signal.
 */
export async function soon(
  caller: AbortSignal | undefined,
  look: (signal: AbortSignal) => Promise<SwapState>,
): Promise<SwapState> {
  const deadline = startDeadline(SWAP_WAIT_MS, caller);
  try {
    const verdict = await look(deadline.signal);
    throwIfAborted(caller);
    return verdict;
  } catch (error) {
    if (deadline.passed) return { state: 'waiting' };
    throw error;
  } finally {
    deadline.end();
  }
}

/**
 * Asks until there is more to say than to wait; `waiting` if the signal ends that. Rejects as
 * the nodes do.
 */
export async function awaitVerdict(
  context: PaymentContext,
  signed: SignedBytes,
  signal: AbortSignal,
): Promise<SwapState> {
  const { rpc, config } = context;
  const { blockhash } = signed.decoded;
  // Whether a node has seen the blockhash at all is not known: one that has seen what this one has
  // by now would know it.
  const { slot: seenAt } = await rpc.isBlockhashValid(blockhash, { signal });
  for (;;) {
    const verdict = await askChain(context, signed, seenAt, signal);
    if (verdict.state !== 'waiting') return verdict;
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
    // Asked last, and of a node that has seen as much: what landed up to then is in it.
    const [status = null] = await rpc.statuses([signed.signature], {
      history: true,
      minContextSlot: slot,
      signal,
    });
    if (status === null) return { state: 'open', slot };
  }
  const fate = await fateOf(histories, await sentBytes(context, signed, seenAt, signal), signal);
  if (fate.state === 'never') return { state: 'expired' };
  if (fate.state === 'open') return { state: 'waiting' };
  return fate.error === null ? { state: 'confirmed' } : { state: 'failed', reason: fate.error };
}

/**
 * What the chain is asked about bytes of which nothing is known but what they say. The wallet pays
 * their fee: its lamports bear witness.
 */
export async function sentBytes(
  context: PaymentContext,
  { signature, decoded }: SignedBytes,
  seenAt: number,
  signal: AbortSignal,
): Promise<Sent> {
  const source = { account: context.config.signer.address, unit: 'lamports' } as const;
  const slot = Math.max(0, seenAt - SLOT_MARGIN);
  return {
    ...{ signature, isId: true, source, slot, blockhash: decoded.blockhash, blockhashSlot: seenAt },
    before: await pastBalance(context, source, slot, signal),
    // Not known: the blockhash alone says it.
    lastValidBlockHeight: -1n,
  };
}
