import type { Attempt } from '../../journal/types.js';
import { ownerOf, type PaymentContext } from '../context.js';
import type { Swapped } from '../reconcile/swap-end.js';
import { reservationFor, type Reservation } from './reservation.js';

/**
 * Makes a swap on the record of an attempt that is never paid. The attempt reserves the swap's
 * bound before the signature, and its cost stays counted afterwards.
 */
export async function swapCounted(
  context: PaymentContext,
  { id, url, mint }: Pick<Attempt, 'id' | 'url' | 'mint'>,
  signal: AbortSignal | undefined,
  swap: (reservation: Reservation) => Promise<Swapped>,
): Promise<Swapped> {
  const reserved: Attempt = {
    ...ownerOf(context),
    ...{ id, url, method: 'SWAP', host: '', payTo: '', state: 'reserved', delivered: false },
    // The id serves as the fingerprint, because two equal orders are still two swaps.
    ...{ fingerprint: id, at: context.config.runtime.now(), mint, amount: '0', microUsd: '0' },
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
