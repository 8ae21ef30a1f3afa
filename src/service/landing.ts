import type { ExactChangeError } from '../errors.js';
import type { SignedSwap, SwapOutcome } from '../journal/types.js';
import type { PaymentContext } from '../payments/context.js';
import { endOfSwap, landSwap, swapExpired, swapFailed } from '../payments/reconcile/swap-end.js';
import { failureFee, readLanded } from '../payments/reconcile/swap-outcome.js';
import { mostFee, type SignedBytes } from './read-swap.js';
import type { SwapState } from './verdict.js';

/** The result of a decided swap, and the error if the swap failed. */
export interface Landed {
  readonly outcome: SwapOutcome;
  readonly error?: ExactChangeError;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/** Sends a signed swap until the chain has decided, as {@link askUntilClosed} does. */
export function keepLanding(
  context: PaymentContext,
  swap: SignedSwap,
): Promise<Landed | undefined> {
  const { runtime } = context.config;
  return askUntilClosed(context, async () =>
    endOfSwap(context, swap, await landSwap(context, swap, { ...runtime, sleep: runtime.idle })),
  );
}

/**
 * Asks again in growing waits until there is an answer. Returns undefined if the context closes
 * first. Its timers do not keep the process alive.
 */
export async function askUntilClosed<T>(
  { config, closing }: PaymentContext,
  ask: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const { signal } = closing;
  for (let wait = FIRST_WAIT_MS; !signal.aborted; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await config.runtime.idle(wait, signal).catch(() => undefined);
  }
  return undefined;
}

/** Throws the swap's error if the swap failed or expired. */
export async function throwIfFailed(
  context: PaymentContext,
  { signature, decoded }: SignedBytes,
  swap: SwapState | undefined,
): Promise<void> {
  if (swap?.state === 'expired') throw swapExpired(signature);
  if (swap?.state !== 'failed') return;
  const fee =
    failureFee(await readLanded(context, signature), context.config.signer.address, {}) ??
    mostFee(decoded);
  throw swapFailed({ signature, reason: swap.reason, feeLamports: fee.toString() });
}

/** Returns the end of a swap from its outcome in the journal. */
export function landedBefore({ signature, quoted }: SignedSwap, outcome: SwapOutcome): Landed {
  if (outcome.state === 'confirmed') return { outcome };
  if (outcome.code === 'swap_expired') return { outcome, error: swapExpired(signature) };
  const feeLamports = outcome.feeLamports ?? quoted.feeLamports;
  return {
    outcome,
    error: swapFailed({ signature, reason: 'it is on record as failed', feeLamports }),
  };
}
