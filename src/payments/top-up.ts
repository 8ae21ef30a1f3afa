import { minAmount } from '../amount.js';
import { isExactChangeError } from '../errors.js';
import type { Emit } from '../events.js';
import { untilAborted } from '../internal/abort.js';
import { withJitter } from '../internal/backoff.js';
import { sinceThen } from '../internal/runtime.js';
import type { TopUp } from '../policy/top-up.js';
import { associatedTokenAddress } from '../solana/tokens/accounts.js';
import { newId, type PaymentContext } from './context.js';
import { approvalFor } from './execute/ask-approval.js';
import { swapCounted } from './execute/counted-swap.js';
import { swapFromBest } from './execute/swap-and-hold.js';
import { swapLock, topUpUrl } from './once-topped-up.js';
import { findFunding, type Funding } from './plan/funding.js';
import { readHoldings } from './plan/holdings.js';
import { knownAvailable } from './plan/offer-accounts.js';
import { planOfSwap } from './plan/plan.js';
import { minSwapOf } from './plan/usd-price.js';
import { finishOpenSwaps } from './reconcile/open-swaps.js';
import { resumeOnce } from './reconcile/resume-once.js';

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
    memory.topUp.running = runTopUp(context, rule).finally(() => {
      memory.topUp.running = undefined;
    });
  };
  // Ignore a journal that fails here, because the next payment reports it.
  isDue().then(start, () => undefined);
}

async function runTopUp(context: PaymentContext, rule: TopUp): Promise<void> {
  const { memory, config, closing, events } = context;
  const id = newId(context);
  const emit = events.emitter(id);
  let reason: unknown;
  const isEnough = await topUp(context, rule, id, emit).catch((error: unknown) => {
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
    message: `The top-up of ${rule.symbol} ${why}, and none is tried for ${waitMs / 1000} s.${detail}`,
  });
}

/**
 * Makes a swap that brings the wallet to the balance of `policy.topUp`, if it holds too little. If
 * no cap has room, makes a smaller swap. It holds the lock for swaps into the mint, also against
 * other processes: each swap finds the tokens of the swap before, and a payment that lacks the
 * token waits.
 *
 * @returns Whether the wallet then holds enough.
 */
async function topUp(
  context: PaymentContext,
  rule: TopUp,
  id: string,
  emit: Emit,
): Promise<boolean> {
  const { config, closing, locks } = context;
  const { mint, tokenProgram, decimals, below, to } = rule;
  const { signal } = closing;
  const source = associatedTokenAddress(config.signer.address, mint, tokenProgram);
  const bring = async () => {
    await finishOpenSwaps(context, mint, { emit, signal, moved: [] });
    const known = () => knownAvailable(context, source);
    if ((await known()) === undefined) await readHoldings(context, [rule], signal);
    const available = (await known()) ?? 0n;
    if (available >= below) return true;
    const facts = { source, decimals, available };
    const wanted = {
      mint,
      least: minAmount(to, available + (await minSwapOf(context, mint, decimals, signal))),
      find: (needed: bigint = to, within: AbortSignal | undefined, except: ReadonlySet<string>) =>
        findFunding(context, rule, facts, needed, {
          ...{ signal: within, except, exact: true, beside: true },
        }),
      beside: true,
    };
    const place = { url: topUpUrl(mint), method: 'SWAP', status: 0 };
    const attempt = { id, url: place.url, mint };
    const { record } = await swapCounted(context, attempt, signal, (reservation) => {
      const planFor = (funding: Funding | undefined) =>
        planOfSwap(context, place, reservation.attempt, funding, signal, true);
      const approve = approvalFor(context, planFor, signal);
      return swapFromBest(context, wanted, facts, { emit, signal, reservation, approve });
    });
    return available + BigInt(record.outAmount) >= below;
  };
  await untilAborted(Promise.all([context.ready(), resumeOnce(context)]), signal);
  return locks.hold([swapLock(mint)], bring, [signal]);
}
