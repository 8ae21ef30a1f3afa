import { isExactChangeError } from '../../errors.js';
import { signRelayed } from '../../swaps/relayer/sign-relayed.js';
import {
  type SignedSwap,
  signSwap,
  type SwapDeps,
  type SwapOrder,
} from '../../swaps/transaction/prepare.js';
import type { PaymentContext } from '../context.js';
import { notRelayed, relayOffer } from '../plan/relay.js';
import type { SwapTask } from './swap-task.js';

/**
 * Signs a swap whose fees and rents the wallet pays, or, if it has too little SOL for them, the
 * relayer of the caller's options. Throws what `signSwap` and `signRelayed` throw;
 * `insufficient_sol` has the relayer's reason as its cause.
 */
export function signSwapPaid(
  context: PaymentContext,
  deps: SwapDeps,
  order: SwapOrder,
  { relay, approved = false }: Pick<SwapTask, 'relay' | 'approved'>,
): Promise<SignedSwap> {
  return signSwap(deps, order).catch(async (short: unknown) => {
    if (!isExactChangeError(short, 'insufficient_sol')) throw short;
    const because = (cause: unknown) =>
      isExactChangeError(cause) && order.signal?.aborted !== true
        ? notRelayed(short, cause)
        : cause;
    // What was not shown with a relayer's fee was not approved with one.
    const offer =
      relay ??
      (approved
        ? undefined
        : await relayOffer(context, [order.bounds.inputMint], order.signal).catch(
            (cause: unknown) => {
              throw because(cause);
            },
          ));
    if (offer === undefined) throw short;
    return signRelayed(deps, order, offer, because);
  });
}
