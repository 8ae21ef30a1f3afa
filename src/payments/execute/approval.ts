import { isExactChangeError, PolicyError } from '../../errors.js';
import { bounded } from '../../internal/bounded.js';
import type { PaymentContext } from '../context.js';
import type { Plan } from '../../policy/plan.js';
import type { Funding } from '../plan/funding.js';

/**
 * Asks whether what comes next may be signed: the payment, and the swap before it if there is
 * one. False if there is no hook to ask; throws if the answer is no.
 */
export type Approve = (funding: Funding | undefined) => Promise<boolean>;

/**
 * Asks `policy.approve`, with a plan of exactly what would be signed; never again for the payment
 * of a swap that was approved with it.
 */
export function approvalFor(
  context: PaymentContext,
  planFor: (funding: Funding | undefined) => Promise<Plan>,
  signal: AbortSignal | undefined,
): Approve {
  const { policy, timeouts } = context.config;
  const { approve } = policy;
  if (approve === undefined) return () => Promise.resolve(false);
  let approved = false;
  return async (funding) => {
    if (funding === undefined && approved) return true;
    const late = () =>
      new Error(`policy.approve did not answer within timeouts.signer, ${timeouts.signer} ms.`);
    const plan = await planFor(funding);
    try {
      // In an async function: the hook may throw at once. Anything but true is a no.
      const answer: unknown = await bounded(
        timeouts.signer,
        late,
        [signal, context.closing.signal],
        async () => approve(plan),
      );
      approved = answer === true;
    } catch (cause) {
      if (signal?.aborted === true) throw signal.reason;
      if (isExactChangeError(cause, 'client_closed')) throw cause;
      throw refused({ cause });
    }
    if (!approved) throw refused({});
    return true;
  };
}

function refused(init: { readonly cause?: unknown }): PolicyError {
  return new PolicyError(
    'approval_refused',
    'The payment was not approved by policy.approve, so it was not signed. Approve it there and call again, or leave it.',
    {
      details: { reason: 'refused' },
      ...init,
    },
  );
}

/** The refusal of a swap that would take more than what was shown. */
export function noLongerApproved(cause: unknown): PolicyError {
  return new PolicyError(
    'approval_refused',
    'The price moved while approval was awaited, and the swap would take more than what was approved. Nothing was signed; call again to approve it anew.',
    { details: { reason: 'changed' }, retry: 'fresh', cause },
  );
}
