import { maxAmount } from '../../amount.js';
import { isExactChangeError, type ExactChangeError } from '../../errors.js';
import { throwIfAborted } from '../../internal/abort.js';
import type { Taken } from '../../journal/balance-ledger.js';
import { WSOL_MINT } from '../../network.js';
import type { Address } from '../../solana/types.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { concernsCandidate } from '../plan/candidate-errors.js';
import type { Choice } from '../plan/choose.js';
import { askAbout, broughtBy, findFunding, MAX_CANDIDATES, type Funding } from '../plan/funding.js';
import type { OwnFacts } from '../plan/offer-accounts.js';
import { shortOf } from '../plan/short-of.js';
import { finishOpenSwaps } from '../reconcile/open-swaps.js';
import type { Swapped } from '../reconcile/swap-end.js';
import { noLongerApproved } from './ask-approval.js';
import { findForAll } from './find-swap.js';
import { freshFacts, holdNow, takeKnown, type FundTask, type HeldFunds } from './fund.js';
import { runSwap } from './run-swap.js';
import { isOverCap, type SwapTaking } from './swap-bound.js';
import { runWrap } from './swap-once.js';
import { swapRecord } from './swap-record.js';

// The part that is tried next of what a swap brings that no cap had room for.
const LESS = 4n;

// One more if others took what was there before the swap had brought the rest.
const MAX_SWAPS = 2;

/** Swaps what is missing, and holds the tokens for a payment. */
export async function swapAndHold(
  context: PaymentContext,
  choice: Choice,
  task: FundTask,
  swaps = 1,
): Promise<HeldFunds> {
  const { offer } = choice;
  const { id } = task;
  throwIfAborted(task.signal);
  const earlier = await finishOpenSwaps(context, offer.mint, task);
  // What it brought is not in what was read before it.
  if (earlier.any) await context.ledger.forget(choice.facts.source);
  const facts = await freshFacts(context, choice, task.signal);
  const held = await holdNow(context, choice, id, task.signal);
  if (held !== undefined) return { ...held, swap: earlier.swap };
  let taken: Taken | undefined;
  // Before another call can: those that wait for the account to be free come first once the swap
  // lets go of it.
  const onConfirmed = async () => {
    // The swap has landed, whatever becomes of the hold: it is tried once more below.
    if (task.signal?.aborted !== true)
      taken = await takeKnown(context, choice, id).catch(() => undefined);
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
  taken ??= await holdNow(context, choice, id, task.signal);
  if (taken !== undefined) return { ...taken, swap };
  if (swaps < MAX_SWAPS) return swapAndHold(context, choice, task, swaps + 1);
  // Confirmed on our node, so it was there: another program spends from this wallet.
  throw shortOf(ownerOf(context), offer, await freshFacts(context, choice, task.signal));
}

/**
 * Finds a swap.
 *
 * @param needed - Base units that are to be there in the end; undefined for all that is wanted.
 */
export type FindSwap = (
  needed: bigint | undefined,
  signal: AbortSignal | undefined,
  except: ReadonlySet<Address>,
) => Promise<Funding>;

/** What a swap is to bring. */
export interface Wanted {
  readonly mint: Address;
  /** Base units that have to be there in the end. */
  readonly least: bigint;
  readonly find: FindSwap;
  /** As a swap task has it. */
  readonly beside?: boolean;
}

/**
 * Swaps from the best token that there is for it, or from the next if the fault is that token's
 * alone.
 */
export async function swapFromBest(
  context: PaymentContext,
  wanted: Wanted,
  facts: OwnFacts,
  task: Pick<FundTask, 'emit' | 'signal' | 'reservation' | 'approve'>,
  onConfirmed?: () => Promise<void>,
): Promise<Swapped> {
  const { mint, least } = wanted;
  const except = new Set<Address>();
  let reason: ExactChangeError | undefined;
  let needed: bigint | undefined;
  for (;;) {
    const find = (signal: AbortSignal | undefined) => wanted.find(needed, signal, except);
    const funding = await askAbout(context, mint, task.signal, find).catch((error: unknown) => {
      // That nothing else is worth the difference says less than what was wrong with the best.
      throw reason !== undefined && isExactChangeError(error, 'insufficient_funds')
        ? reason
        : error;
    });
    try {
      return await swapInto(context, wanted, funding, task, onConfirmed);
    } catch (error) {
      // All that a swap takes counts against the caps of this payment, whatever else it is for.
      const isForMore = broughtBy(funding) > least - facts.available;
      if (isOverCap(error) && isForMore && needed !== least) {
        needed = maxAmount(least, lessThan(context, facts, funding));
        continue;
      }
      if (!concernsCandidate(error)) throw error;
      reason ??= error;
      if (except.add(funding.inputMint).size >= MAX_CANDIDATES) throw reason;
    }
  }
}

/**
 * What to look for after no cap had room for a swap: less in steps, as each swap has a fee. No more
 * than the payment needs if each step would be asked of a person.
 */
function lessThan({ config }: PaymentContext, facts: OwnFacts, funding: Funding): bigint {
  return config.policy.approve === undefined ? facts.available + broughtBy(funding) / LESS : 0n;
}

async function swapInto(
  context: PaymentContext,
  { mint, beside }: Wanted,
  funding: Funding,
  { emit, signal, reservation, approve }: Parameters<typeof swapFromBest>[3],
  onConfirmed: (() => Promise<void>) | undefined,
): Promise<Swapped> {
  const record = swapRecord(context, reservation);
  const task = {
    emit,
    signal,
    onPlanned: (taking: SwapTaking) => record.planSwap(taking, signal),
    onSigned: record.recordSwap,
    onDecided: record.endSwap,
    onConfirmed,
    beside,
  };
  const approved = await approve(funding);
  if ('wrap' in funding) return runWrap(context, funding.wrap, task);
  const { quote, built, available, relay } = funding;
  const request = {
    inputMint: quote.inputMint,
    outputMint: quote.outputMint,
    // What is needed; a service may have claimed to bring more.
    amount: quote.minOutAmount,
    swapMode: 'ExactOut' as const,
    slippageBps: quote.slippageBps,
  };
  const keepWrapped = mint === WSOL_MINT;
  if (!approved)
    return runSwap(context, { ...task, request, quote, built, available, relay, keepWrapped });
  // Quoted anew, it may take no more than what was shown.
  return runSwap(context, {
    ...task,
    request,
    quote,
    built,
    approved,
    available: funding.maxInAmount,
    relay,
    keepWrapped,
  }).catch((error: unknown) => {
    throw isExactChangeError(error, 'insufficient_funds') ? noLongerApproved(error) : error;
  });
}
