import { base64 } from '@scure/base';
import { throwIfAborted, untilAborted } from '../deadline.js';
import { TransactionError } from '../errors.js';
import type { Attempt, SignedSwap } from '../journal/types.js';
import { landTransaction } from '../solana/confirm.js';
import type { Address } from '../solana/types.js';
import type { Core } from './core.js';
import { ownerOf } from './owner.js';
import { LAMPORTS_LOCK, mintLock, RESEND_MS } from './run-swap.js';

/**
 * Brings earlier swaps into a mint to their end: those that an attempt signed before it failed, or its process died. One may still bring the
 * tokens, and a second beside it would swap twice for one purchase, so the same bytes are sent again until the chain has decided.
 * Returns whether there were any; throws `swap_uncertain` where no node tells.
 */
export async function finishOpenSwaps(core: Core, mint: Address, signal: AbortSignal | undefined): Promise<boolean> {
  const open: Attempt[] = [];
  for await (const attempt of core.journal.attempts(ownerOf(core), { state: 'abandoned' })) if (attempt.mint === mint) open.push(attempt);
  for (const { id, swap } of open) {
    if (swap !== undefined) await finish(core, mint, swap, signal);
    await core.journal.release(id);
  }
  return open.length > 0;
}

/** Landed, or past its last height: nothing of it is still to come. */
export async function isOver({ rpc }: Core, { signature, lastValidBlockHeight }: SignedSwap, signal: AbortSignal): Promise<boolean> {
  const { height } = await rpc.tip('finalized', { signal });
  if (height > BigInt(lastValidBlockHeight)) return true;
  const [status = null] = await rpc.statuses([signature], { history: true, signal });
  return status !== null && status.commitment !== 'processed';
}

function finish(core: Core, mint: Address, { signature, transaction, lastValidBlockHeight }: SignedSwap, signal: AbortSignal | undefined) {
  const { rpc, config, closing, locks } = core;
  const land = async () => {
    throwIfAborted(signal);
    const { outcome } = await landTransaction({
      rpc,
      runtime: config.runtime,
      bytes: base64.decode(transaction),
      lastValidBlockHeight: BigInt(lastValidBlockHeight),
      resendMs: RESEND_MS,
      signal: closing.signal,
    });
    if (outcome === 'unknown') throw undecided(signature, lastValidBlockHeight);
  };
  // Its guard counts on what it found on the accounts: no payment leaves from them meanwhile.
  return untilAborted(locks.hold([mintLock(mint), LAMPORTS_LOCK], land, [signal, closing.signal]), signal);
}

function undecided(signature: string, lastValidBlockHeight: string): TransactionError {
  return new TransactionError(
    'swap_uncertain',
    `An earlier swap into this token was sent, and no node says what became of it. Nothing more was signed; try again once block height ${lastValidBlockHeight} is final.`,
    { details: { signature, lastValidBlockHeight }, funds: 'uncertain' },
  );
}
