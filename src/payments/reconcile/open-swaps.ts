import { TransactionError, type Moved } from '../../errors.js';
import type { Emit } from '../../events.js';
import { throwIfAborted, untilAborted } from '../../internal/abort.js';
import type { Attempt, SignedSwap, SwapOutcome } from '../../journal/types.js';
import type { Address } from '../../solana/types.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { mintLock } from '../execute/fund.js';
import { LAMPORTS_LOCK } from '../execute/land-exclusively.js';
import { withoutBound } from '../execute/reservation.js';
import { isForgotten } from './forgotten.js';
import { endDecided, endUnpaid, releaseOrphans } from './orphaned-attempts.js';
import { askSwap, endOfSwap, landSwap, sentSwap, type SwapEnd, type Swapped } from './swap-end.js';

interface Task {
  readonly emit: Emit;
  readonly signal: AbortSignal | undefined;
  /** Grows by what lands. */
  readonly moved: Moved[];
}

/** What earlier swaps came to. */
export interface Finished {
  /** Whether there were any. */
  readonly any: boolean;
  /** The last that landed as it should. */
  readonly swap: Swapped | undefined;
}

/**
 * Brings earlier swaps into a mint to their end: those that an attempt signed before it failed, or
 * its process died. One may still bring the tokens, and a second beside it would swap twice for one
 * purchase, so the same bytes are sent again until the chain has decided; if a person has to
 * approve what is signed, and may have said no since, it is only asked about. Throws
 * `swap_uncertain` if no node tells.
 */
export async function finishOpenSwaps(
  context: PaymentContext,
  mint: Address,
  task: Task,
): Promise<Finished> {
  // A process that died meanwhile left one that is still its own.
  await releaseOrphans(context);
  const open: Attempt[] = [];
  for await (const attempt of context.journal.attempts(ownerOf(context), { state: 'abandoned' }))
    if (attempt.mint === mint) open.push(attempt);
  let last: Swapped | undefined;
  for (const attempt of open) {
    const { swap, at } = attempt;
    // What is decided is never sent: it may not have been before because it could not be written
    // down.
    if (swap === undefined || swap.outcome !== undefined)
      await endUnpaid(context, withoutBound(attempt));
    else {
      // Sending one that no node remembers would never come to an end.
      const end = (await isForgottenSwap(context, at, swap))
        ? { outcome: await decidedOutcome(context, at, swap) }
        : await finish(context, mint, swap, task);
      if ('swapped' in end && end.landed !== undefined) last = end.swapped;
      if (end.outcome !== undefined) await endDecided(context, attempt, end.outcome);
    }
  }
  return { any: open.length > 0, swap: last };
}

/**
 * What became of a swap, as the chain has it now; undefined if it may still land. All that one may
 * have taken that no node remembers stays counted.
 *
 * @param at - When it was made. Milliseconds since the epoch.
 */
export async function decidedOutcome(
  context: PaymentContext,
  at: number,
  swap: SignedSwap,
): Promise<SwapOutcome | undefined> {
  const end = await endOfSwap(context, swap, await askSwap(context, swap));
  if (end !== undefined) return end.outcome;
  return (await isForgottenSwap(context, at, swap))
    ? { state: 'failed', code: 'swap_uncertain' }
    : undefined;
}

function isForgottenSwap(context: PaymentContext, at: number, swap: SignedSwap): Promise<boolean> {
  return isForgotten(context, at, sentSwap(swap, context.config.signer.address));
}

async function finish(
  context: PaymentContext,
  mint: Address,
  swap: SignedSwap,
  { emit, signal, moved }: Task,
): Promise<SwapEnd> {
  const { config, closing, locks } = context;
  const { signature, inputMint, outputMint } = swap;
  if (
    config.policy.approve !== undefined &&
    (await askSwap(context, swap, signal)).outcome === 'unknown'
  )
    throw undecided(swap);
  const land = async () => {
    throwIfAborted(signal);
    return landSwap(context, swap);
  };
  // Its guard counts on what it found on the accounts: no payment leaves from them meanwhile.
  const landing = await untilAborted(
    locks.hold([mintLock(mint), LAMPORTS_LOCK], land, [signal, closing.signal]),
    signal,
  );
  if (landing.outcome !== 'unknown') await forgetAccounts(context, swap);
  if (landing.outcome === 'failed') emit('swap.failed', { signature, code: 'swap_failed' });
  const end = await endOfSwap(context, swap, landing);
  if (end === undefined) throw undecided(swap);
  if ('error' in end) return end;
  const { record, feeLamports } = end.swapped;
  const { provider: _provider, ...amounts } = record;
  moved.push({
    kind: 'swap',
    ...(end.landed === undefined ? { signature, inputMint, outputMint } : amounts),
  });
  if (end.landed !== undefined)
    emit('swap.confirmed', { ...record, feeLamports: feeLamports.toString() });
  return end;
}

/** What its accounts hold is not known any more: it may have landed since they were read. */
export async function forgetAccounts(
  { ledger }: PaymentContext,
  { source, output }: SignedSwap,
): Promise<void> {
  await ledger.forget(source);
  await ledger.forget(output);
}

function undecided({ signature, lastValidBlockHeight }: SignedSwap): TransactionError {
  return new TransactionError(
    'swap_uncertain',
    `An earlier swap into this token was sent, and no node says what became of it. Nothing more was signed; try again once block height ${lastValidBlockHeight} is final.`,
    { details: { signature, lastValidBlockHeight }, funds: 'uncertain' },
  );
}
