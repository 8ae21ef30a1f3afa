import { TransactionError } from '../../errors.js';
import { throwIfAborted, untilAborted } from '../../internal/abort.js';
import { sinceThen } from '../../internal/runtime.js';
import type { SignedSwap, SwapOutcome } from '../../journal/types.js';
import type { Address } from '../../solana/types.js';
import type { PaymentContext } from '../context.js';
import { mintLock } from '../execute/fund.js';
import { LAMPORTS_LOCK } from '../execute/land-exclusively.js';
import { withoutBound } from '../execute/reservation.js';
import type { Task } from '../task.js';
import { isForgotten } from './forgotten.js';
import { endDecided, endUnpaid, releaseOrphans } from './orphaned-attempts.js';
import { attemptsInState } from './resume-once.js';
import { askSwap, endOfSwap, landSwap, sentSwap, type SwapEnd, type Swapped } from './swap-end.js';
import { forgetOutdated, readAfter } from './swap-outcome.js';

/**
 * Milliseconds for which nodes are asked for the transaction of a confirmed swap. Without it, the
 * swap costs its whole bound.
 */
const UNSHOWN_MS = 600_000;

type SwapFor = Pick<Task, 'emit' | 'signal' | 'moved'>;

/**
 * Finishes earlier swaps into a mint that attempts signed before they failed or their process died.
 * Such a swap may still bring the tokens, so a new swap could swap twice for one purchase. A balance
 * from before a decided swap could do that too, so such balances are forgotten.
 *
 * Sends the same bytes again until the chain has decided. With `policy.approve`, it only asks the
 * chain, because the approver may have refused since. Resolves to the last swap that succeeded and
 * that a node shows. Throws `swap_uncertain` if no node gives the fate.
 */
export async function finishOpenSwaps(
  context: PaymentContext,
  mint: Address,
  task: SwapFor,
): Promise<Swapped | undefined> {
  // Release orphans first, because the swap of a process that just died is on a reserved attempt.
  await releaseOrphans(context);
  await forgetOutdated(context);
  const abandoned = await attemptsInState(context, 'abandoned');
  let last: Swapped | undefined;
  for (const attempt of abandoned.filter((each) => each.mint === mint)) {
    const { swap, at } = attempt;
    // Never send a swap that is recorded as decided: its bytes may never have been sent, because
    // the journal failed when they were recorded.
    if (swap === undefined || swap.outcome !== undefined)
      await endUnpaid(context, withoutBound(attempt));
    else {
      // Sending a swap that no node remembers would never end.
      const end = (await isForgottenSwap(context, at, swap))
        ? { outcome: await decidedOutcome(context, at, swap) }
        : await finishSwap(context, mint, swap, task);
      if ('swapped' in end && end.landed !== undefined) last = end.swapped;
      const outcome = 'swapped' in end ? outcomeToRecord(context, at, end) : end.outcome;
      if (outcome !== undefined) await endDecided(context, attempt, outcome);
    }
  }
  return last;
}

/**
 * Asks the chain once for a swap's outcome; returns undefined if the swap may still land, or if a
 * node may soon give its transaction. If no node remembers the swap any more, all that it may have
 * taken stays counted.
 *
 * @param at - Milliseconds since the epoch at which the swap was signed.
 */
export async function decidedOutcome(
  context: PaymentContext,
  at: number,
  swap: SignedSwap,
): Promise<SwapOutcome | undefined> {
  const end = await endOfSwap(context, swap, await askSwap(context, swap));
  if (end !== undefined) return outcomeToRecord(context, at, end);
  return (await isForgottenSwap(context, at, swap))
    ? { state: 'failed', code: 'swap_uncertain' }
    : undefined;
}

/** Returns the outcome of a decided swap; undefined if a node may soon give its transaction. */
function outcomeToRecord(
  { config }: PaymentContext,
  at: number,
  end: SwapEnd,
): SwapOutcome | undefined {
  const isUnshown = 'swapped' in end && end.landed === undefined;
  return isUnshown && sinceThen(config.runtime, at) < UNSHOWN_MS ? undefined : end.outcome;
}

export function isForgottenSwap(
  context: PaymentContext,
  at: number,
  swap: SignedSwap,
): Promise<boolean> {
  return isForgotten(context, at, sentSwap(swap, context.config.signer.address));
}

async function finishSwap(
  context: PaymentContext,
  mint: Address,
  swap: SignedSwap,
  { emit, signal, moved }: SwapFor,
): Promise<SwapEnd> {
  const { config, closing, locks } = context;
  const { signature, inputMint, outputMint } = swap;
  if (
    config.policy.approve !== undefined &&
    (await askSwap(context, swap, signal)).outcome === 'unknown'
  )
    throw undecidedSwap(swap);
  const land = async () => {
    throwIfAborted(signal);
    return landSwap(context, swap);
  };
  // Hold the locks: the swap's guard checks balances, so no payment may leave these accounts.
  const landing = await untilAborted(
    locks.hold([mintLock(mint), LAMPORTS_LOCK], land, [signal, closing.signal]),
    signal,
  );
  if (landing.outcome !== 'unknown')
    await readAfter(context, swap, 'slot' in landing ? landing.slot : undefined);
  if (landing.outcome === 'failed') emit('swap.failed', { signature, code: 'swap_failed' });
  const end = await endOfSwap(context, swap, landing);
  if (end === undefined) throw undecidedSwap(swap);
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

function undecidedSwap({ signature, lastValidBlockHeight }: SignedSwap): TransactionError {
  return new TransactionError(
    'swap_uncertain',
    `An earlier swap into this token was signed, and no node says what became of it. Nothing more was signed; try again once block height ${lastValidBlockHeight} is final.`,
    { details: { signature, lastValidBlockHeight }, funds: 'uncertain' },
  );
}
