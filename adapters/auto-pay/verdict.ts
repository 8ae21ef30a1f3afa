import { startDeadline, throwIfAborted } from '../../src/deadline.js';
import type { Runtime } from '../../src/runtime.js';
import type { Rpc } from '../../src/solana/rpc.js';
import type { SignedBytes } from './swap.js';

/**
 * What the chain shows of a signed transaction, far back too. `expired`: it is not there, and its blockhash is too old for any block to come.
 * `open`: it may land yet, as of the slot. `waiting`: no block may have it any more, or one has it, and neither is certain yet.
 */
export type Verdict =
  | { readonly state: 'confirmed' }
  | { readonly state: 'failed'; readonly reason: string }
  | { readonly state: 'expired' }
  | { readonly state: 'open'; readonly slot: number }
  | { readonly state: 'waiting' };

type Signed = Pick<SignedBytes, 'signature'> & { readonly decoded: Pick<SignedBytes['decoded'], 'blockhash'> };

const POLL_MS = 500;
// An HTTP caller does not wait for long; what is not decided by then is asked for again.
export const SWAP_WAIT_MS = 20_000;

/** Looks for a verdict for as long as a caller is kept waiting: `waiting` where there is none by then. Rejects with the reason of the caller's signal. */
export async function soon(caller: AbortSignal | undefined, look: (signal: AbortSignal) => Promise<Verdict>): Promise<Verdict> {
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

/** Asks until there is more to say than to wait; `waiting` where the signal ends that. Rejects as the nodes do. */
export async function awaitVerdict(rpc: Rpc, runtime: Runtime, signed: Signed, signal: AbortSignal): Promise<Verdict> {
  for (;;) {
    const verdict = await askChain(rpc, signed, signal);
    if (verdict.state !== 'waiting') return verdict;
    const isOver = await runtime.sleep(POLL_MS, signal).then(
      () => false,
      () => true,
    );
    if (isOver) return verdict;
  }
}

/** Asks each node: one may have a gap that it does not know of, so where two answer, neither is believed alone that it never can land. */
async function askChain(rpc: Rpc, signed: Signed, signal: AbortSignal): Promise<Verdict> {
  const failures: unknown[] = [];
  const nodes = rpc.alone();
  let never = 0;
  for (const node of nodes) {
    try {
      const verdict = await askNode(node, signed, signal);
      if (verdict.state === 'expired') never += 1;
      else if (verdict.state !== 'waiting') return verdict;
      if (never >= 2) break;
    } catch (error) {
      if (signal.aborted) throw error;
      failures.push(error);
    }
  }
  if (failures.length === nodes.length) throw failures[0];
  return { state: never >= Math.min(2, nodes.length - failures.length) ? 'expired' : 'waiting' };
}

async function askNode(rpc: Rpc, { signature, decoded: { blockhash } }: Signed, signal: AbortSignal): Promise<Verdict> {
  const now = await rpc.isBlockhashValid(blockhash, { signal });
  // One that is too young for a final block is young enough for the newest.
  const final = now.valid ? now : await rpc.isBlockhashValid(blockhash, { signal, commitment: 'finalized' });
  // Asked last, and of who has seen as much: what landed up to then is in it.
  const minContextSlot = Math.max(now.slot, final.slot);
  const [status = null] = await rpc.statuses([signature], { history: true, signal, minContextSlot });
  if (status === null) {
    if (now.valid) return { state: 'open', slot: now.slot };
    return { state: final.valid ? 'waiting' : 'expired' };
  }
  if (status.commitment === 'processed') return { state: 'waiting' };
  return status.error === null ? { state: 'confirmed' } : { state: 'failed', reason: status.error };
}
