import { startDeadline, untilAborted } from '../internal/abort.js';
import type { PaymentResult } from '../transport.js';
import type { Landed } from './landing.js';
import type { SwapAttempt } from './records.js';
import { offerFor, type Step } from './step.js';
import { SWAP_WAIT_MS } from './verdict.js';

/** Waits a while for the end of a swap; undefined if the swap is still open then. */
export async function waitFor(
  { session, signal }: Step,
  attempt: SwapAttempt,
): Promise<Landed | undefined> {
  const deadline = startDeadline(SWAP_WAIT_MS, signal);
  try {
    return await untilAborted(session.landSwap(attempt), deadline.signal);
  } catch (error) {
    if (deadline.passed) return undefined;
    throw error;
  } finally {
    deadline.end();
  }
}

export function submittedSwap(step: Step, { id, swap, ...attempt }: SwapAttempt): PaymentResult {
  return { state: 'swap_submitted', id, signature: swap.signature, offer: offerFor(step, attempt) };
}
