import { isExactChangeError, PolicyError } from '../../errors.js';
import { bounded } from '../../internal/abort.js';
import type { PaymentContext } from '../context.js';
import type { Plan } from '../../policy/plan.js';
import type { Funding } from '../plan/funding.js';

/**
 * Asks whether what comes next may be signed: the payment, and the swap before it if there is
 * one. False if there is no hook to ask; throws if the answer is no.
 */
export type Approve = (funding: Funding | undefined) => Promise<boolean>;

/** `policy.approve`. */
type PolicyHook = NonNullable<PaymentContext['config']['policy']['approve']>;

/**
 * Asks `policy.approve`, with a plan of exactly what would be signed; never again for the payment
 * of a swap that was approved with it.
 */
export function approvalFor(
  context: PaymentContext,
  approve: PolicyHook | undefined,
  planFor: (funding: Funding | undefined) => Promise<Plan>,
  signal: AbortSignal | undefined,
): Approve {
  if (approve === undefined) return () => Promise.resolve(false);
  let approved = false;
  return async (funding) => {
    if (funding === undefined && approved) return true;
    await askApproval(context, approve, await planFor(funding), signal);
    approved = true;
    return true;
  };
}

/** Asks a hook whether what a plan shows may be signed; throws if the answer is no. */
async function askApproval(
  context: PaymentContext,
  approve: PolicyHook,
  plan: Plan,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { timeouts } = context.config;
  const late = () =>
    new Error(`policy.approve did not answer within timeouts.signer, ${timeouts.signer} ms.`);
  let answer: unknown;
  try {
    // In an async function: the hook may throw at once.
    answer = await bounded(timeouts.signer, late, [signal, context.closing.signal], async () =>
      approve(plan),
    );
  } catch (cause) {
    if (signal?.aborted === true) throw signal.reason;
    if (isExactChangeError(cause, 'client_closed')) throw cause;
    throw refused({ cause });
  }
  // Anything but true is a no.
  if (answer !== true) throw refused({});
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
