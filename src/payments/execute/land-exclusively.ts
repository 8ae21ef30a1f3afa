import { base64 } from '../../internal/bytes.js';
import { TransactionError } from '../../errors.js';
import { throwIfAborted, untilAborted } from '../../internal/abort.js';
import type { SignedSwap as SwapRecord } from '../../journal/types.js';
import type { Address } from '../../solana/types.js';
import { swappedAtMost, type SignedSwap } from '../../swaps/transaction/prepare.js';
import type { SwapQuote } from '../../swaps/types.js';
import type { PaymentContext } from '../context.js';
import { outdateHoldings } from '../plan/pinned-holdings.js';
import { recordedBefore } from '../reconcile/fate.js';
import { endOfSwap, landSwap, type Swapped } from '../reconcile/swap-end.js';
import { forgetAccounts, rememberAfter, rememberSince } from '../reconcile/swap-outcome.js';
import { mintLock } from './fund.js';
import type { SwapHooks } from './swap-task.js';

/**
 * Signs and lands a swap. Meanwhile no payment leaves from the accounts of `mints`, and no other
 * swap of the wallet runs: the guard at the swap's end counts on the balances read before. The
 * caller may stop waiting; the swap goes on to its end.
 */
export function landExclusively(
  context: PaymentContext,
  mints: readonly Address[],
  { emit, signal, onSigned, onDecided, onConfirmed }: Omit<SwapHooks, 'onPlanned'>,
  sign: () => Promise<SignedSwap>,
  quoted: QuotedAmounts,
): Promise<Swapped> {
  const locks = [...mints.map(mintLock), LAMPORTS_LOCK];
  const swap = async () => {
    throwIfAborted(signal);
    const signed = await sign();
    // Check before recording: a call that has given up has rolled its attempt back already.
    throwIfAborted(signal);
    const record = recordOf(signed, quoted);
    const { signature, lastValidBlockHeight } = record;
    await onSigned?.(record);
    emit('swap.signed', { signature, lastValidBlockHeight });
    const busy = await busyOf(context, signed, mints);
    // If the journal fails, the balances are still read again when they are too old.
    const forgetBalances = () => forgetAccounts(context, record).catch(() => undefined);
    const end = await endOfSwap(context, record, await landSwap(context, record));
    outdateHoldings(context);
    if (end === undefined || 'error' in end) {
      const cost = end === undefined ? undefined : onDecided?.(end.outcome);
      await forgetBalances();
      const error = end?.error ?? swapUncertain(record);
      emit('swap.failed', { signature, code: error.code, ...(cost === undefined ? {} : { cost }) });
      throw error;
    }
    const { swapped, landed, slot, outcome } = end;
    if (landed === undefined) {
      emit('warning', {
        message: `No node gives the confirmed swap ${signature}, so its amounts are reported as quoted.`,
      });
      await forgetBalances();
      const { output, outputBefore } = signed.expected;
      const least = outputBefore + swappedAtMost(signed.expected).minOut;
      if (onConfirmed !== undefined)
        await rememberSince(context, output, slot, least).catch(() => undefined);
    } else {
      // The balance from before the swap must not stay: it would make the payment swap once more.
      await rememberAfter(context, landed, signed.expected, busy).catch(forgetBalances);
    }
    // Without its transaction, a swap costs its whole bound. A payment needs the outcome now. Any
    // other attempt leaves it open, because a node may give the transaction a little later.
    const isLeftOpen = landed === undefined && onConfirmed === undefined;
    const cost = isLeftOpen ? undefined : onDecided?.(outcome);
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

/** Returns the accounts of a swap that payments may leave from while the swap lands. */
async function busyOf(
  { ledger }: PaymentContext,
  { expected: { source, output, outputMint } }: Pick<SignedSwap, 'expected'>,
  locked: readonly Address[],
): Promise<ReadonlySet<Address>> {
  // If the output mint is not locked, new payments may leave from the output account too.
  const busy = new Set<Address>(locked.includes(outputMint) ? [] : [output]);
  for (const account of [source, output])
    if ((await ledger.held(account).catch(() => 1n)) > 0n) busy.add(account);
  return busy;
}

type QuotedAmounts = Pick<
  SwapQuote,
  'inputMint' | 'outputMint' | 'inAmount' | 'outAmount' | 'provider'
>;

/** Name of the lock for transactions that count on the wallet's lamports. */
export const LAMPORTS_LOCK = 'lamports';

function recordOf(
  { signature, payerSignature, bytes, lifetime, expected }: SignedSwap,
  { inputMint, outputMint, inAmount, outAmount, provider }: QuotedAmounts,
): SwapRecord {
  const { blockhash, slot, lastValidBlockHeight } = lifetime;
  const { source, output, before, relay } = expected;
  return {
    ...{ signature, inputMint, outputMint, provider, source, output },
    ...{ blockhash, blockhashSlot: slot },
    ...recordedBefore(before),
    ...(relay === undefined
      ? {}
      : { relay: { payerSignature, mint: relay.mint, fee: relay.amount.toString() } }),
    lastValidBlockHeight: lastValidBlockHeight.toString(),
    transaction: base64.encode(bytes),
    quoted: {
      inAmount: BigInt(inAmount).toString(),
      outAmount: BigInt(outAmount).toString(),
      feeLamports: (expected.networkFeeLamports + expected.priorityFeeLamports).toString(),
    },
  };
}

function swapUncertain({
  signature,
  lastValidBlockHeight,
}: SwapRecord): TransactionError<'swap_uncertain'> {
  return new TransactionError(
    'swap_uncertain',
    `The swap was signed, and no node says what became of it. Look up its signature, or wait until block height ${lastValidBlockHeight} is final, before trying again.`,
    { details: { signature, lastValidBlockHeight }, funds: 'uncertain' },
  );
}
