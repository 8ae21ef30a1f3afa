import { maxAmount } from '../../amount.js';
import { isExactChangeError, type ExactChangeError } from '../../errors.js';
import { throwIfAborted } from '../../internal/abort.js';
import type { Taken } from '../../journal/account-balance.js';
import { WSOL_MINT } from '../../network.js';
import type { Address } from '../../solana/types.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { swapLock, workOnceToppedUp } from '../once-topped-up.js';
import { concernsCandidate } from '../plan/candidate-queue.js';
import { requestFor } from '../plan/ask-ahead.js';
import type { Choice } from '../plan/choose.js';
import { askAbout, broughtBy, findFunding, MAX_CANDIDATES, type Funding } from '../plan/funding.js';
import type { OwnFacts } from '../plan/offer-accounts.js';
import { tooLittleHeld } from '../plan/short-of.js';
import { finishOpenSwaps } from '../reconcile/open-swaps.js';
import type { Swapped } from '../reconcile/swap-end.js';
import { isOverCap } from '../plan/swap-cost-bound.js';
import { noLongerApproved } from './ask-approval.js';
import { findForAll } from './find-swap.js';
import { freshFacts, holdTokens, holdIfKnown, type FundTask, type HeldFunds } from './fund.js';
import { runSwap } from './run-swap.js';
import { isPastApproval, runWrap } from './swap-once.js';
import { recordSwaps } from './swap-record.js';

// If no cap has room for a swap, the next swap brings a quarter of it.
const SHRINK = 4n;

// Swap once more if other payments took the wallet's tokens before the swap had landed.
const MAX_SWAPS = 2;

/**
 * Swaps for a payment, and holds its tokens. The call that swaps into this mint holds the lock.
 * Other calls wait for it, and mostly find enough tokens then. While a call waits for a top-up, it
 * does not hold the lock.
 */
export function swapInTurn(
  context: PaymentContext,
  choice: Choice,
  task: FundTask,
): Promise<HeldFunds> {
  const { locks, closing } = context;
  const { signal } = task;
  const swap = () =>
    locks.hold([swapLock(choice.offer.mint)], () => swapAndHold(context, choice, task), [
      signal,
      closing.signal,
    ]);
  return workOnceToppedUp(context, swap, signal);
}

async function swapAndHold(
  context: PaymentContext,
  choice: Choice,
  task: FundTask,
  swaps = 1,
): Promise<HeldFunds> {
  const { offer } = choice;
  const { id } = task;
  throwIfAborted(task.signal);
  const earlier = await finishOpenSwaps(context, offer.mint, task);
  const facts = await freshFacts(context, choice, task.signal);
  const held = await holdTokens(context, choice, id, task.signal);
  if (held !== undefined) return { ...held, swap: earlier };
  let taken: Taken | undefined;
  // Hold the tokens before the swap releases its locks: calls that wait for them come first then.
  const onConfirmed = async () => {
    // Ignore a failed hold, because the swap has landed and the hold is tried once more below.
    if (task.signal?.aborted !== true)
      taken = await holdIfKnown(context, choice, id).catch(() => undefined);
  };
  const find: FindSwap = (needed, signal, except) =>
    needed === undefined
      ? findForAll(context, choice, facts, signal, except)
      : findFunding(context, offer, facts, needed, {
          ...{ signal, except, exact: true },
          toPay: offer,
        });
  const wanted = { mint: offer.mint, least: offer.amount, find };
  const swap = await swapFromBest(context, wanted, facts, task, onConfirmed);
  const { signature, inputMint, inAmount, outputMint, outAmount } = swap.record;
  task.moved.push({ kind: 'swap', signature, inputMint, inAmount, outputMint, outAmount });
  taken ??= await holdTokens(context, choice, id, task.signal);
  if (taken === undefined) {
    // A failing journal may have kept the balance from before the swap.
    await context.ledger.forget(choice.facts.source);
    taken = await holdTokens(context, choice, id, task.signal);
  }
  if (taken !== undefined) return { ...taken, swap };
  if (swaps < MAX_SWAPS) return swapAndHold(context, choice, task, swaps + 1);
  // The node has confirmed the swap, so another program spends from this wallet.
  const left = await freshFacts(context, choice, task.signal);
  throw tooLittleHeld(ownerOf(context), offer, left, true);
}

/**
 * Finds a swap.
 *
 * @param needed - Base units that the wallet must hold after it; undefined: as many as are wanted.
 * @param except - Mints that the swap must not take.
 */
export type FindSwap = (
  needed: bigint | undefined,
  signal: AbortSignal | undefined,
  except: ReadonlySet<Address>,
) => Promise<Funding>;

export interface Wanted {
  readonly mint: Address;
  /** Base units that the wallet must hold after the swap. */
  readonly least: bigint;
  readonly find: FindSwap;
  /** As in `SwapTask`. */
  readonly beside?: boolean;
}

type BestSwapTask = Pick<FundTask, 'emit' | 'signal' | 'reservation' | 'approve'>;

/**
 * Swaps from the best token of the wallet. If only that token is at fault, swaps from the next. If
 * no cap has room, tries a smaller swap.
 */
export async function swapFromBest(
  context: PaymentContext,
  wanted: Wanted,
  facts: OwnFacts,
  task: BestSwapTask,
  onConfirmed?: () => Promise<void>,
): Promise<Swapped> {
  const { mint, least } = wanted;
  const except = new Set<Address>();
  let reason: ExactChangeError | undefined;
  let needed: bigint | undefined;
  for (;;) {
    const find = (signal: AbortSignal | undefined) => wanted.find(needed, signal, except);
    const funding = await askAbout(context, mint, task.signal, find).catch((error: unknown) => {
      // If no other token will do, the error of the best token says more.
      throw reason !== undefined && isExactChangeError(error, 'insufficient_funds')
        ? reason
        : error;
    });
    try {
      return await swapInto(context, wanted, funding, task, onConfirmed);
    } catch (error) {
      // Try a smaller swap, because the whole swap counts against the caps of this payment, even if
      // other payments need it too.
      const isForMore = broughtBy(funding) > least - facts.available;
      const smaller = maxAmount(least, smallerNeed(context, facts, funding));
      if (isOverCap(error) && isForMore && (needed === undefined || smaller < needed)) {
        needed = smaller;
        continue;
      }
      // A swap out of a different token would pay into the same account.
      const isOutput =
        isExactChangeError(error, 'account_unusable') && error.details.account === facts.source;
      if (isOutput || !concernsCandidate(error)) throw error;
      reason ??= error;
      if (except.add(funding.inputMint).size >= MAX_CANDIDATES) throw reason;
    }
  }
}

/**
 * Returns the base units to look for after no cap had room for a swap. They shrink in large steps,
 * because each swap has a fee. If a person must approve each step, only the payment's need is left.
 */
function smallerNeed({ config }: PaymentContext, facts: OwnFacts, funding: Funding): bigint {
  return config.policy.approve === undefined ? facts.available + broughtBy(funding) / SHRINK : 0n;
}

async function swapInto(
  context: PaymentContext,
  { mint, beside }: Wanted,
  funding: Funding,
  { emit, signal, reservation, approve }: BestSwapTask,
  onConfirmed: (() => Promise<void>) | undefined,
): Promise<Swapped> {
  const task = {
    ...{ emit, signal, onConfirmed, beside },
    ...recordSwaps(context, reservation, signal),
  };
  const approved = await approve(funding);
  if ('wrap' in funding) return runWrap(context, funding.wrap, task);
  const { quote, built, available, relay } = funding;
  // Ask for the least that the quote brings, because a service may have claimed a larger amount.
  const least = BigInt(quote.minOutAmount);
  const request = requestFor(context, { mint: quote.inputMint }, quote.outputMint, least);
  const swapping = runSwap(context, {
    ...task,
    ...{ request, quote, built, relay, approved, keepWrapped: mint === WSOL_MINT },
    // A new quote may take no more than the approved plan shows.
    available: approved ? funding.maxInAmount : available,
  });
  return swapping.catch((error: unknown) => {
    const isMore =
      isExactChangeError(error, 'insufficient_funds') ||
      isPastApproval(error, funding.maxInAmount.toString());
    throw approved && isMore ? noLongerApproved(error) : error;
  });
}
