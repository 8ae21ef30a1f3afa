import { base64 } from '@scure/base';
import { throwIfAborted, untilAborted } from '../deadline.js';
import { TransactionError, type Moved } from '../errors.js';
import type { Emit } from '../events.js';
import type { Attempt, SignedSwap } from '../journal/types.js';
import { landTransaction } from '../solana/confirm.js';
import type { Address } from '../solana/types.js';
import type { Core } from './core.js';
import { freeDead } from './dead.js';
import { ownerOf } from './owner.js';
import { LAMPORTS_LOCK, mintLock, RESEND_MS, type Swapped } from './run-swap.js';
import { outcomeOf, readLanded } from './swap-outcome.js';

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
 * somebody has to approve what is signed, and may have said no since, it is only asked about. Throws `swap_uncertain` where no node tells.
 */
export async function finishOpenSwaps(core: Core, mint: Address, task: Task): Promise<Finished> {
  // A process that died meanwhile left one that is still its own.
  await freeDead(core);
  const open: Attempt[] = [];
  for await (const attempt of core.journal.attempts(ownerOf(core), { state: 'abandoned' })) if (attempt.mint === mint) open.push(attempt);
  let last: Swapped | undefined;
  for (const { id, swap } of open) {
    if (swap !== undefined) last = (await finish(core, mint, swap, task)) ?? last;
    await core.journal.release(id);
  }
  return { any: open.length > 0, swap: last };
}

/** Landed, or past its last height: nothing of it is still to come. */
export async function isOver(
  { rpc }: Core,
  { signature, lastValidBlockHeight }: SignedSwap,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { height } = await rpc.tip('finalized', { signal });
  if (height > BigInt(lastValidBlockHeight)) return true;
  const [status = null] = await rpc.statuses([signature], { history: true, signal });
  return status !== null && status.commitment !== 'processed';
}

async function finish(core: Core, mint: Address, signed: SignedSwap, { emit, signal, moved }: Task): Promise<Swapped | undefined> {
  const { rpc, config, closing, locks } = core;
  const { signature, transaction, lastValidBlockHeight } = signed;
  if (config.policy.approve !== undefined && !(await isOver(core, signed, signal))) throw undecided(signed);
  const land = async () => {
    throwIfAborted(signal);
    return landTransaction({
      rpc,
      runtime: config.runtime,
      bytes: base64.decode(transaction),
      lastValidBlockHeight: BigInt(lastValidBlockHeight),
      resendMs: RESEND_MS,
      signal: closing.signal,
    });
  };
  // Its guard counts on what it found on the accounts: no payment leaves from them meanwhile.
  const { outcome } = await untilAborted(locks.hold([mintLock(mint), LAMPORTS_LOCK], land, [signal, closing.signal]), signal);
  if (outcome === 'unknown') throw undecided(signed);
  await forgetAccounts(core, signed);
  if (outcome === 'failed') emit('swap.failed', { signature, code: 'swap_failed' });
  if (outcome !== 'confirmed') return undefined;
  const swapped = await readSwapped(core, signed);
  if (swapped === undefined) {
    moved.push({ kind: 'swap', signature, inputMint: signed.inputMint, outputMint: signed.outputMint });
    return undefined;
  }
  const { provider: _provider, ...amounts } = swapped.record;
  moved.push({ kind: 'swap', ...amounts });
  emit('swap.confirmed', { ...swapped.record, feeLamports: swapped.feeLamports.toString() });
  return swapped;
}

/** What its accounts hold is not known any more: it may have landed since they were read. */
export async function forgetAccounts({ ledger }: Core, { source, output }: SignedSwap): Promise<void> {
  await ledger.forget(source);
  await ledger.forget(output);
}

/** What it took and brought, as the chain shows it; undefined where no node gives it. */
async function readSwapped(
  core: Core,
  { signature, inputMint, outputMint, provider, source, output }: SignedSwap,
): Promise<Swapped | undefined> {
  const landed = await readLanded(core, signature);
  if (landed === undefined) return undefined;
  const { inAmount, outAmount, feeLamports } = outcomeOf(landed, core.config.signer.address, { inputMint, outputMint, source, output });
  return {
    record: { signature, inputMint, inAmount: inAmount.toString(), outputMint, outAmount: outAmount.toString(), provider },
    feeLamports,
  };
}

function undecided({ signature, lastValidBlockHeight }: SignedSwap): TransactionError {
  return new TransactionError(
    'swap_uncertain',
    `An earlier swap into this token was sent, and no node says what became of it. Nothing more was signed; try again once block height ${lastValidBlockHeight} is final.`,
    { details: { signature, lastValidBlockHeight }, funds: 'uncertain' },
  );
}
