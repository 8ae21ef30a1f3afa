import type { ResolvedRequest } from '../../config/swap-request.js';
import type { Attempt } from '../../journal/types.js';
import { newId, type PaymentContext } from '../context.js';
import type { Swapped } from '../reconcile/swap-end.js';
import { reservationFor, type Reservation } from './reservation.js';
import { runSwap } from './run-swap.js';
import { recordSwaps } from './swap-record.js';
import type { SwapTask } from './swap-task.js';

/**
 * Makes a swap that counts against the caps, as a swap for a payment does. It is for swaps that
 * something less trusted than the caller orders. Throws `amount_over_limit` or `budget_exhausted`.
 */
export async function countedSwap(
  context: PaymentContext,
  request: ResolvedRequest,
  { emit, signal, worst }: Pick<SwapTask, 'emit' | 'signal' | 'worst'>,
): Promise<Swapped> {
  const { inputMint, outputMint } = request;
  const url = `swap:${inputMint}/${outputMint}`;
  const counted = { id: newId(context), url, mint: outputMint, signal };
  return swapCounted(context, counted, (reservation) =>
    runSwap(context, {
      ...{ request, emit, signal, worst },
      ...recordSwaps(context, reservation, signal),
    }),
  );
}

interface CountedSwap {
  readonly id: string;
  readonly url: string;
  readonly mint: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * Makes a swap on the record of an attempt that is never paid. The attempt reserves the swap's
 * bound before the signature, and its cost stays counted afterwards.
 */
export async function swapCounted(
  context: PaymentContext,
  { id, url, mint, signal }: CountedSwap,
  swap: (reservation: Reservation) => Promise<Swapped>,
): Promise<Swapped> {
  const { signer, network, runtime } = context.config;
  const reserved: Attempt = {
    ...{ id, wallet: signer.address, network, state: 'reserved', delivered: false },
    ...{ url, method: 'SWAP', host: '', payTo: '' },
    // The id serves as the fingerprint, because two equal orders are still two swaps.
    ...{ fingerprint: id, at: runtime.now(), mint, amount: '0', microUsd: '0' },
  };
  const reservation = reservationFor(context, reserved, signal);
  let failure: unknown;
  try {
    await reservation.reserve();
    return await swap(reservation);
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    // The attempt holds no tokens, so there is no account to release.
    await reservation.rollBack(undefined, failure);
  }
}
