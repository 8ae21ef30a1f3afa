import { base64 } from '@scure/base';
import { throwIfAborted, untilAborted } from '../../internal/deadline.js';
import { TransactionError, type Moved } from '../../errors.js';
import type { Emit } from '../../events.js';
import type { Attempt, SignedSwap, SwapOutcome } from '../../journal/types.js';
import { landTransaction, type Landing } from '../../solana/transactions/confirm.js';
import type { Address } from '../../solana/types.js';
import type { PaymentContext } from '../context.js';
import { endDecided, endUnpaid, releaseOrphans } from './orphaned-attempts.js';
import { ownerOf } from '../owner.js';
import { fateOf, landingOf } from './fate.js';
import { sentSwap } from './sent-transaction.js';
import { confirmedAs, LAMPORTS_LOCK, lookBackFor, mintLock, RESEND_MS, type Swapped } from '../execute/run-swap.js';
import { withoutBound } from '../execute/swap-cost.js';
import { failureFee, swapAmountsOf, readLanded, rentIn } from './swap-outcome.js';

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
 * Brings earlier swaps into a mint to their end: those that an attempt signed before it failed, or its process died. One may still bring the
 * tokens, and a second beside it would swap twice for one purchase, so the same bytes are sent again until the chain has decided; where
 * a person has to approve what is signed, and may have said no since, it is only asked about. Throws `swap_uncertain` where no node tells.
 */
export async function finishOpenSwaps(context: PaymentContext, mint: Address, task: Task): Promise<Finished> {
  // A process that died meanwhile left one that is still its own.
  await releaseOrphans(context);
  const open: Attempt[] = [];
  for await (const attempt of context.journal.attempts(ownerOf(context), { state: 'abandoned' }))
    if (attempt.mint === mint) open.push(attempt);
  let last: Swapped | undefined;
  for (const attempt of open) {
    // What is decided is never sent: it may not have been before because it could not be written down.
    if (attempt.swap === undefined || attempt.swap.outcome !== undefined) await endUnpaid(context, withoutBound(attempt));
    else {
      const end = await finish(context, mint, attempt.swap, task);
      last = end.swapped ?? last;
      await endDecided(context, attempt, end.outcome);
    }
  }
  return { any: open.length > 0, swap: last };
}

/** What became of a swap, as the chain has it now; undefined where it may still land. */
export async function decidedOutcome(
  context: PaymentContext,
  signed: SignedSwap,
  signal: AbortSignal | undefined,
): Promise<SwapOutcome | undefined> {
  const { outcome } = await landingNow(context, signed, signal);
  if (outcome === 'unknown') return undefined;
  return outcome === 'confirmed' ? confirmed(signed, await readSwapped(context, signed)) : failedAs(context, signed, outcome);
}

/** What is put on record of a swap that came to nothing; one that landed has cost its fee. */
async function failedAs(context: PaymentContext, { signature }: SignedSwap, outcome: 'failed' | 'expired'): Promise<SwapOutcome> {
  if (outcome === 'expired') return { state: 'failed', code: 'swap_expired' };
  const fee = failureFee(await readLanded(context, signature), context.config.signer.address);
  return { state: 'failed', code: 'swap_failed', ...(fee === undefined ? {} : { feeLamports: fee.toString() }) };
}

function confirmed({ quoted }: SignedSwap, swapped: Swapped | undefined): SwapOutcome {
  return swapped === undefined ? { state: 'confirmed', ...quoted } : confirmedAs(swapped);
}

/** What became of a swap, as the chain has it now. */
async function landingNow(context: PaymentContext, signed: SignedSwap, signal: AbortSignal | undefined): Promise<Landing> {
  return landingOf(await fateOf(context.histories, sentSwap(signed, context.config.signer.address), signal ?? context.closing.signal));
}

/** What became of a swap that was brought to its end. */
interface End {
  readonly outcome: SwapOutcome;
  /** Where it landed as it should, and a node gives it. */
  readonly swapped?: Swapped;
}

async function finish(context: PaymentContext, mint: Address, signed: SignedSwap, { emit, signal, moved }: Task): Promise<End> {
  const { rpc, config, closing, locks } = context;
  const { signature, transaction, lastValidBlockHeight } = signed;
  if (config.policy.approve !== undefined && (await landingNow(context, signed, signal)).outcome === 'unknown') throw undecided(signed);
  const land = async () => {
    throwIfAborted(signal);
    return landTransaction({
      rpc,
      runtime: config.runtime,
      bytes: base64.decode(transaction),
      lastValidBlockHeight: BigInt(lastValidBlockHeight),
      resendMs: RESEND_MS,
      lookBack: lookBackFor(context, signed),
      signal: closing.signal,
    });
  };
  // Its guard counts on what it found on the accounts: no payment leaves from them meanwhile.
  const { outcome } = await untilAborted(locks.hold([mintLock(mint), LAMPORTS_LOCK], land, [signal, closing.signal]), signal);
  if (outcome === 'unknown') throw undecided(signed);
  await forgetAccounts(context, signed);
  if (outcome === 'failed') emit('swap.failed', { signature, code: 'swap_failed' });
  if (outcome !== 'confirmed') return { outcome: await failedAs(context, signed, outcome) };
  const swapped = await readSwapped(context, signed);
  if (swapped === undefined) {
    moved.push({ kind: 'swap', signature, inputMint: signed.inputMint, outputMint: signed.outputMint });
    return { outcome: confirmed(signed, undefined) };
  }
  const { provider: _provider, ...amounts } = swapped.record;
  moved.push({ kind: 'swap', ...amounts });
  emit('swap.confirmed', { ...swapped.record, feeLamports: swapped.feeLamports.toString() });
  return { outcome: confirmed(signed, swapped), swapped };
}

/** What its accounts hold is not known any more: it may have landed since they were read. */
export async function forgetAccounts({ ledger }: PaymentContext, { source, output }: SignedSwap): Promise<void> {
  await ledger.forget(source);
  await ledger.forget(output);
}

/** What it took and brought, as the chain shows it; undefined where no node gives it. */
async function readSwapped(
  context: PaymentContext,
  { signature, inputMint, outputMint, provider, source, output, quoted }: SignedSwap,
): Promise<Swapped | undefined> {
  const landed = await readLanded(context, signature);
  if (landed === undefined) return undefined;
  // What is wrapped stays on own accounts: the sum of their changes says nothing of it.
  const wallet = context.config.signer.address;
  const about = { inputMint, outputMint, source, output };
  const seen = inputMint === outputMint ? quoted : swapAmountsOf(landed, wallet, about);
  return {
    record: { signature, inputMint, inAmount: `${seen.inAmount}`, outputMint, outAmount: `${seen.outAmount}`, provider },
    feeLamports: landed.feeLamports,
    rentLamports: rentIn(landed, wallet, about),
  };
}

function undecided({ signature, lastValidBlockHeight }: SignedSwap): TransactionError {
  return new TransactionError(
    'swap_uncertain',
    `An earlier swap into this token was sent, and no node says what became of it. Nothing more was signed; try again once block height ${lastValidBlockHeight} is final.`,
    { details: { signature, lastValidBlockHeight }, funds: 'uncertain' },
  );
}
