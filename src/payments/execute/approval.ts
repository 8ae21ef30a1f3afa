import type { PaymentContext } from '../context.js';
import type { Plan } from '../../policy/plan.js';
import type { Funding } from '../plan/funding.js';
import { swapEngine } from '../on-demand.js';

/**
 * Asks whether what comes next may be signed: the payment, and the swap before it if there is
 * one. False if there is no hook to ask; throws if the answer is no.
 */
export type Approve = (funding: Funding | undefined) => Promise<boolean>;

/** `policy.approve`. */
export type PolicyHook = NonNullable<PaymentContext['config']['policy']['approve']>;

/**
 * Asks `policy.approve`, with a plan of exactly what would be signed; never again for the payment
 * of a swap that was approved with it.
 */
export function approvalFor(
  context: PaymentContext,
  planFor: (funding: Funding | undefined) => Promise<Plan>,
  signal: AbortSignal | undefined,
): Approve {
  const { approve } = context.config.policy;
  if (approve === undefined) return () => Promise.resolve(false);
  let approved = false;
  return async (funding) => {
    if (funding === undefined && approved) return true;
    const { askApproval } = await swapEngine();
    await askApproval(context, approve, await planFor(funding), signal);
    approved = true;
    return true;
  };
}
