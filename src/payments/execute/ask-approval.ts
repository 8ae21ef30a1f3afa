import { PolicyError } from '../../errors.js';
import { bounded } from '../../internal/abort.js';
import type { PaymentContext } from '../context.js';
import type { Plan } from '../../policy/plan.js';
import type { Choice } from '../plan/choose.js';
import type { Funding } from '../plan/funding.js';
import { planOf } from '../plan/plan.js';
import type { Task } from '../task.js';

/**
 * Asks whether the payment may be signed, and the swap before it if there is a swap. Resolves to
 * false if there is no hook to ask; rejects if the hook refuses.
 */
export type Approve = (funding: Funding | undefined) => Promise<boolean>;

/**
 * Returns a function that asks `policy.approve`, with a plan of exactly the transactions to sign.
 * If a swap was approved together with its payment, it does not ask again for the payment.
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
    const plan = await planFor(funding);
    // The async function turns a synchronous throw of the hook into a rejection.
    await requireApproval(context, async () => approve(plan), signal);
    approved = true;
    return true;
  };
}

/** As {@link approvalFor}, for a payment that the caps count already. */
export function approvalOf(
  context: PaymentContext,
  choice: Choice,
  { url, method }: Task['place'],
  signal: AbortSignal | undefined,
): Approve {
  const place = { url, method, status: 402 };
  return approvalFor(
    context,
    (funding) => planOf(context, place, choice, funding, signal, true),
    signal,
  );
}

async function requireApproval(
  context: PaymentContext,
  ask: () => Promise<unknown>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { timeouts } = context.config;
  const closing = context.closing.signal;
  const timeoutError = () =>
    new Error(`policy.approve did not answer within timeouts.signer, ${timeouts.signer} ms.`);
  let answer: unknown;
  try {
    answer = await bounded(timeouts.signer, timeoutError, [signal, closing], ask);
  } catch (cause) {
    if (signal?.aborted === true) throw signal.reason;
    if (closing.aborted) throw closing.reason;
    throw approvalRefused({ cause });
  }
  // Only true approves.
  if (answer !== true) throw approvalRefused({});
}

function approvalRefused(init: { readonly cause?: unknown }): PolicyError {
  return new PolicyError(
    'approval_refused',
    'Nothing more was signed, because policy.approve did not return true. Approve it there and call again.',
    { details: { reason: 'refused' }, ...init },
  );
}

export function noLongerApproved(cause: unknown): PolicyError {
  return new PolicyError(
    'approval_refused',
    'The price moved while approval was awaited, and the swap would take more than what was approved. Nothing more was signed; call again to approve it anew.',
    { details: { reason: 'changed' }, retry: 'fresh', cause },
  );
}
