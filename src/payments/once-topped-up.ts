import { isExactChangeError } from '../errors.js';
import type { Address } from '../solana/types.js';
import type { PaymentContext } from './context.js';
import { attemptsInState } from './reconcile/resume-once.js';

/** Returns the name of the lock for finding and making a swap into a mint. */
export function swapLock(mint: Address): string {
  return `swap ${mint}`;
}

export function topUpUrl(mint: Address): string {
  return `top-up:${mint}`;
}

/**
 * Asks for budget. If no cap has room, asks once more when the top-ups that count have ended, in
 * any process: a top-up under way counts with its bound, which is more than it takes in the end. A
 * top-up that waits for approval counts nothing yet, so it is not waited for: a person may take
 * long. The caller holds no lock that a swap takes.
 */
export function onceToppedUp<T>(
  context: PaymentContext,
  ask: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  return ask().catch(async (error: unknown) => {
    await topUpsEnded(context, error, signal);
    return ask();
  });
}

/**
 * As {@link onceToppedUp}, for work that gets quotes and may ask a person: it is repeated only if a
 * top-up was waited for.
 */
export function workOnceToppedUp<T>(
  context: PaymentContext,
  work: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  return work().catch(async (error: unknown) => {
    if (await topUpsEnded(context, error, signal)) return work();
    throw error;
  });
}

/** Resolves to whether a top-up was waited for. Throws an error that no top-up can cause. */
async function topUpsEnded(
  context: PaymentContext,
  error: unknown,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { config, locks, closing } = context;
  const { topUp } = config.policy;
  if (topUp === undefined || !isExactChangeError(error, 'budget_exhausted')) throw error;
  const url = topUpUrl(topUp.mint);
  const reserved = await attemptsInState(context, 'reserved');
  if (!reserved.some((attempt) => attempt.url === url && attempt.swapping !== undefined))
    return false;
  await locks.hold([swapLock(topUp.mint)], () => Promise.resolve(), [signal, closing.signal]);
  return true;
}
