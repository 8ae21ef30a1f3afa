import { base64 } from '../../internal/bytes.js';
import { TransactionError } from '../../errors.js';
import { throwIfAborted, untilAborted } from '../../internal/abort.js';
import type { SignedSwap as SwapRecord } from '../../journal/types.js';
import type { Address } from '../../solana/types.js';
import { swappedAtMost, type SignedSwap } from '../../swaps/transaction/prepare.js';
import type { PaymentContext } from '../context.js';
import { outdateHoldings } from '../plan/pinned-holdings.js';
import { endOfSwap, landSwap, type Swapped } from '../reconcile/swap-end.js';
import { rememberAfter } from '../reconcile/swap-outcome.js';
import { mintLock } from './fund.js';
import type { Watched } from './swap-task.js';

/**
 * Signs and lands while no payment leaves from the accounts that it touches and no other swap of
 * the wallet runs: the guard at its end holds them to the balances that were read before. The
 * caller may stop waiting; the swap goes on to its end.
 */
export function exclusively(
  context: PaymentContext,
  mints: readonly Address[],
  { emit, signal, onSigned, onDecided, onConfirmed }: Omit<Watched, 'onPlanned'>,
  sign: () => Promise<SignedSwap>,
  quoted: QuotedAmounts,
): Promise<Swapped> {
  const locks = [...mints.map(mintLock), LAMPORTS_LOCK];
  const swap = async () => {
    throwIfAborted(signal);
    const signed = await sign();
    // Before it is written: a call that gave up has undone already what there was.
    throwIfAborted(signal);
    const record = recordOf(signed, quoted);
    const { signature, lastValidBlockHeight } = record;
    await onSigned?.(record);
    emit('swap.signed', { signature, lastValidBlockHeight });
    const busy = await busyOf(context, signed, mints);
    const end = await endOfSwap(context, record, await landSwap(context, record));
    outdateHoldings(context);
    if (end === undefined || 'error' in end) {
      const cost = end === undefined ? undefined : onDecided?.(end.outcome);
      await forgetBoth(context, signed);
      const error = end?.error ?? uncertain(record);
      emit('swap.failed', { signature, code: error.code, ...(cost === undefined ? {} : { cost }) });
      throw error;
    }
    const { swapped, landed, outcome } = end;
    if (landed === undefined) {
      emit('warning', {
        message: `No node gives the confirmed swap ${signature}, so its amounts are reported as quoted.`,
      });
      await forgetBoth(context, signed);
      if (onConfirmed !== undefined)
        await rememberLeast(context, signed.expected).catch(() => undefined);
    } else await rememberAfter(context, landed, signed.expected, busy).catch(() => undefined);
    const cost = onDecided?.(outcome);
    emit('swap.confirmed', {
      ...swapped.record,
      feeLamports: swapped.feeLamports.toString(),
      ...(cost === undefined ? {} : { cost }),
    });
    await onConfirmed?.();
    return swapped;
  };
  return untilAborted(context.locks.hold(locks, swap, [signal, context.closing.signal]), signal);
}

/** Which of its accounts payments may leave from while it lands. */
async function busyOf(
  { ledger }: PaymentContext,
  { expected: { source, output, outputMint } }: Pick<SignedSwap, 'expected'>,
  locked: readonly Address[],
): Promise<ReadonlySet<Address>> {
  // New ones, too, if its mint is not locked.
  const busy = new Set<Address>(locked.includes(outputMint) ? [] : [output]);
  for (const account of [source, output])
    if ((await ledger.held(account).catch(() => 1n)) > 0n) busy.add(account);
  return busy;
}

/** What a swap was quoted to take and to bring, in base units. */
interface QuotedAmounts {
  readonly inputMint: Address;
  readonly outputMint: Address;
  readonly inAmount: bigint;
  readonly outAmount: bigint;
  readonly provider: string;
}

/** The lock of what counts on the wallet's lamports. */
export const LAMPORTS_LOCK = 'lamports';

/** What is put on record of a swap before it leaves. */
function recordOf(
  { signature, payerSignature, bytes, lifetime, expected }: SignedSwap,
  { inputMint, outputMint, inAmount, outAmount, provider }: QuotedAmounts,
): SwapRecord {
  const { blockhash, slot, lastValidBlockHeight } = lifetime;
  const { source, output, before, relay } = expected;
  return {
    ...{
      signature,
      inputMint,
      outputMint,
      provider,
      source,
      output,
      blockhash,
      blockhashSlot: slot,
    },
    before: { amount: before.amount.toString(), slot: before.slot },
    ...(relay === undefined
      ? {}
      : { relay: { payerSignature, mint: relay.mint, fee: relay.amount.toString() } }),
    lastValidBlockHeight: lastValidBlockHeight.toString(),
    transaction: base64.encode(bytes),
    quoted: {
      inAmount: inAmount.toString(),
      outAmount: outAmount.toString(),
      feeLamports: (expected.networkFeeLamports + expected.priorityFeeLamports).toString(),
    },
  };
}

function uncertain({
  signature,
  lastValidBlockHeight,
}: SwapRecord): TransactionError<'swap_uncertain'> {
  return new TransactionError(
    'swap_uncertain',
    `The swap was sent, and no node says what became of it. Look up its signature, or wait until block height ${lastValidBlockHeight} is final, before trying again.`,
    { details: { signature, lastValidBlockHeight }, funds: 'uncertain' },
  );
}

/**
 * What the swap's guard has proved that there is: a node that is behind would show less, and a
 * second swap be made for it.
 */
function rememberLeast(
  { ledger, config }: PaymentContext,
  expected: SignedSwap['expected'],
): Promise<void> {
  const { output, outputBefore } = expected;
  const amount = outputBefore + swappedAtMost(expected).minOut;
  return ledger.see(output, { amount, at: config.runtime.now() });
}

/**
 * What they hold now is not known any more; if that cannot be noted, it is read anew when it is
 * old.
 */
async function forgetBoth(
  { ledger }: PaymentContext,
  { expected }: Pick<SignedSwap, 'expected'>,
): Promise<void> {
  await Promise.all([ledger.forget(expected.source), ledger.forget(expected.output)]).catch(
    () => undefined,
  );
}
