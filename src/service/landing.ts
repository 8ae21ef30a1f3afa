import { TransactionError, type ExactChangeError } from '../errors.js';
import type { SignedSwap, SwapOutcome } from '../journal/types.js';
import type { PaymentContext } from '../payments/context.js';
import { decidedOutcome, isForgottenSwap } from '../payments/reconcile/open-swaps.js';
import { askUntilClosed } from '../payments/reconcile/resume.js';
import { endOfSwap, landSwap, swapExpired, swapFailed } from '../payments/reconcile/swap-end.js';
import { failureFee, readLanded } from '../payments/reconcile/swap-outcome.js';
import { mostFee, type SignedBytes } from './read-swap.js';
import type { SwapAttempt } from './records.js';
import type { SwapState } from './verdict.js';

export interface Landed {
  readonly outcome: SwapOutcome;
  readonly error?: ExactChangeError;
}

/**
 * Sends an attempt's swap until the chain has decided, as {@link askUntilClosed} does. It does not
 * send a swap that no node remembers, because that would never end.
 */
export function keepLanding(
  context: PaymentContext,
  { at, swap }: SwapAttempt,
): Promise<Landed | undefined> {
  const { runtime } = context.config;
  return askUntilClosed(context, async () => {
    if (await isForgottenSwap(context, at, swap)) {
      const outcome = await decidedOutcome(context, at, swap);
      return outcome && landedBefore(swap, outcome);
    }
    return endOfSwap(
      context,
      swap,
      await landSwap(context, swap, { ...runtime, sleep: runtime.idle }),
    );
  });
}

export async function throwIfFailed(
  context: PaymentContext,
  { signature, decoded }: SignedBytes,
  swap: SwapState | undefined,
): Promise<void> {
  if (swap?.outcome === 'expired') throw swapExpired(signature);
  if (swap?.outcome !== 'failed') return;
  const fee =
    failureFee(await readLanded(context, signature), context.config.signer.address, {}) ??
    mostFee(decoded);
  throw swapFailed({ signature, reason: swap.error, feeLamports: fee.toString() });
}

export function landedBefore(
  { signature, quoted, lastValidBlockHeight }: SignedSwap,
  outcome: SwapOutcome,
): Landed {
  if (outcome.state === 'confirmed') return { outcome };
  if (outcome.code === 'swap_expired') return { outcome, error: swapExpired(signature) };
  if (outcome.code === 'swap_uncertain') {
    const error = new TransactionError(
      'swap_uncertain',
      'No node remembers what became of the swap, and it can land no more. Check the balance, then plan the payment anew.',
      { details: { signature, lastValidBlockHeight }, funds: 'uncertain' },
    );
    return { outcome, error };
  }
  const feeLamports = outcome.feeLamports ?? quoted.feeLamports;
  return {
    outcome,
    error: swapFailed({ signature, reason: 'it is on record as failed', feeLamports }),
  };
}
