import { isExactChangeError } from '../errors.js';
import { withJitter } from '../internal/backoff.js';
import { sinceThen } from '../internal/runtime.js';
import { associatedTokenAddress } from '../solana/tokens/accounts.js';
import { newId, type PaymentContext } from './context.js';
import { swapLock } from './execute/fund.js';
import { topUp, topUpUrl } from './execute/top-up.js';
import { knownAvailable } from './plan/offer-accounts.js';
import { attemptsInState } from './reconcile/resume-once.js';

// A top-up that failed or brought too little has a reason that lasts, so the next top-up waits.
const FIRST_REST_MS = 60_000;
const LONGEST_REST_MS = 3_600_000;

/**
 * Starts the swap of `policy.topUp` in the background if the wallet holds too little, or may hold
 * too little because its balance is old. Only one top-up runs at a time. After a top-up that did
 * not bring enough, none starts for a while. Never throws.
 */
export function keepToppedUp(context: PaymentContext): void {
  const { memory, config, closing } = context;
  const { topUp: rule } = config.policy;
  if (rule === undefined || memory.topUp.running !== undefined) return;
  const isDue = async (): Promise<boolean> => {
    const isResting = sinceThen(config.runtime, memory.topUp.failedAt) < memory.topUp.restMs;
    if (closing.signal.aborted || isResting) return false;
    const source = associatedTokenAddress(config.signer.address, rule.mint, rule.tokenProgram);
    const known = await knownAvailable(context, source);
    return known === undefined || known < rule.below;
  };
  const start = (isShort: boolean) => {
    if (!isShort || memory.topUp.running !== undefined) return;
    memory.topUp.running = runTopUp(context, rule.symbol).finally(() => {
      memory.topUp.running = undefined;
    });
  };
  // Ignore a journal that fails here, because the next payment reports it.
  isDue().then(start, () => undefined);
}

async function runTopUp(context: PaymentContext, symbol: string): Promise<void> {
  const { memory, config, closing, events } = context;
  const id = newId(context);
  const emit = events.emitter(id);
  let reason: unknown;
  const isEnough = await topUp(context, id, emit).catch((error: unknown) => {
    reason = error;
    return false;
  });
  if (closing.signal.aborted) return;
  const failures = isEnough ? 0 : memory.topUp.failures + 1;
  const waitMs = Math.min(FIRST_REST_MS * 2 ** (failures - 1), LONGEST_REST_MS);
  memory.topUp.failures = failures;
  if (failures === 0) return;
  const { runtime } = config;
  memory.topUp.failedAt = runtime.now();
  memory.topUp.restMs = withJitter(waitMs, runtime);
  const why = isExactChangeError(reason) ? `failed with ${reason.code}` : 'brought too little';
  const detail = isExactChangeError(reason) ? ` ${reason.message}` : '';
  emit('warning', {
    message: `The top-up of ${symbol} ${why}, and none is tried for ${waitMs / 1000} s.${detail}`,
  });
}

/**
 * Asks for budget. If no cap has room, asks once more when the top-ups that count have ended, in
 * any process: a top-up under way counts with its bound, which is more than it takes in the end. A
 * top-up that waits for approval counts nothing yet, so it is not waited for: a person may take
 * long.
 */
export function onceToppedUp<T>(
  context: PaymentContext,
  ask: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  const { config, locks, closing } = context;
  return ask().catch(async (error: unknown) => {
    const { topUp } = config.policy;
    if (topUp === undefined || !isExactChangeError(error, 'budget_exhausted')) throw error;
    const url = topUpUrl(topUp.mint);
    const reserved = await attemptsInState(context, 'reserved');
    if (reserved.some((attempt) => attempt.url === url && attempt.swapping !== undefined))
      await locks.hold([swapLock(topUp.mint)], () => Promise.resolve(), [signal, closing.signal]);
    return ask();
  });
}
