import { isExactChangeError, type ExactChangeError, type Moved } from '../../errors.js';
import type { Emit } from '../../events.js';
import type { Taken } from '../../journal/balance-ledger.js';
import type { SignedSwap, SwapOutcome } from '../../journal/types.js';
import { throwIfAborted, untilAborted } from '../../internal/deadline.js';
import { WSOL_MINT } from '../../network.js';
import type { Receipt } from '../../receipt.js';
import type { Address } from '../../solana/types.js';
import type { Choice } from '../plan/choose.js';
import type { Core } from '../context.js';
import { noLongerApproved, type Approve } from './approval.js';
import { broughtBy, concernsCandidate, findFunding, isPinned, MAX_CANDIDATES, shortOf, type Funding } from '../plan/funding.js';
import { finishOpenSwaps } from '../reconcile/open-swaps.js';
import { mintLock, runSwap, runWrap, type Swapped } from './run-swap.js';
import { isOverCap, type SwapTaking } from './swap-cost.js';
import { freshIn, knownAvailable, survey, type Facts } from '../plan/offer-accounts.js';

interface Task {
  /** The attempt's. */
  readonly id: string;
  readonly emit: Emit;
  readonly signal: AbortSignal | undefined;
  /** Grows by what lands, also where this fails. */
  readonly moved: Moved[];
  /** Called with what a swap takes at most, by its quote and then by its guard, before it is signed; a rejection keeps it from being signed. */
  readonly onSwapPlanned: (taking: SwapTaking) => Promise<void>;
  readonly onSwapSigned: (signed: SignedSwap) => Promise<void>;
  /** Called with what became of the swap that was signed last. Says what it cost. */
  readonly onSwapDecided: (outcome: SwapOutcome) => Receipt['cost'];
  /** Asks whether the swap and the payment may be signed. */
  readonly approve: Approve;
  /** Called once what the payment needs is counted among what waits. */
  readonly onCounted: () => void;
}

/** Tokens that are held for a payment. */
export interface Secured extends Taken {
  /** The swap that brought them, if one had to. */
  readonly swap?: Swapped | undefined;
}

/** Holds the tokens for a payment, and swaps first if there are too few. One swap serves all payments in a pinned mint that wait for it. */
export async function secure(core: Core, choice: Choice, task: Task): Promise<Secured> {
  const { offer, facts } = choice;
  const { id, emit, signal } = task;
  const { waiting } = core.wallet;
  const missing = offer.amount > facts.available ? offer.amount - facts.available : 0n;
  emit('balance.checked', {
    mint: offer.mint,
    available: facts.available.toString(),
    required: offer.amount.toString(),
    missing: missing.toString(),
  });
  // Counted before the first wait: a call that looks for a swap meanwhile lets it cover this payment too.
  waiting.set(offer.mint, (waiting.get(offer.mint) ?? 0n) + offer.amount);
  task.onCounted();
  try {
    const held = await holdNow(core, choice, id, signal);
    if (held !== undefined) return held;
    if (!core.config.autoSwap) throw shortOf(offer, facts);
    // Held by the call that swaps into this mint; the others wait and mostly find enough afterwards.
    const work = core.locks.hold([`swap ${offer.mint}`], () => swapAndHold(core, choice, task), [signal, core.closing.signal]);
    return await untilAborted(work, signal).catch((error: unknown) => {
      // No call is left to spend what it may come to hold.
      work.then(() => core.ledger.release(facts.source, id)).catch(() => undefined);
      throw error;
    });
  } finally {
    const rest = (waiting.get(offer.mint) ?? 0n) - offer.amount;
    if (rest > 0n) waiting.set(offer.mint, rest);
    else waiting.delete(offer.mint);
  }
}

// One more where others took what was there before the swap had brought the rest.
const MAX_SWAPS = 2;

async function swapAndHold(core: Core, choice: Choice, task: Task, swaps = 1): Promise<Secured> {
  const { offer } = choice;
  const { id } = task;
  throwIfAborted(task.signal);
  const earlier = await finishOpenSwaps(core, offer.mint, task);
  // What it brought is not in what was read before it.
  if (earlier.any) await core.ledger.forget(choice.facts.source);
  const facts = await freshFacts(core, choice, task.signal);
  const held = await holdNow(core, choice, id, task.signal);
  if (held !== undefined) return { ...held, swap: earlier.swap };
  let taken: Taken | undefined;
  // Before another call can: those that wait for the account to be free come first once the swap lets go of it.
  const onConfirmed = async () => {
    // The swap has landed, whatever becomes of the hold: it is tried once more below.
    if (task.signal?.aborted !== true) taken = await takeKnown(core, choice, id).catch(() => undefined);
  };
  const swap = await swapFromBest(core, choice, facts, task, onConfirmed);
  const { signature, inputMint, inAmount, outputMint, outAmount } = swap.record;
  task.moved.push({ kind: 'swap', signature, inputMint, inAmount, outputMint, outAmount });
  taken ??= await holdNow(core, choice, id, task.signal);
  if (taken !== undefined) return { ...taken, swap };
  if (swaps < MAX_SWAPS) return swapAndHold(core, choice, task, swaps + 1);
  // Confirmed on our node, so it was there: another program spends from this wallet.
  throw shortOf(offer, await freshFacts(core, choice, task.signal));
}

/** Swaps from the best token that there is for it, or from the next where the fault is that token's alone. */
async function swapFromBest(core: Core, choice: Choice, facts: Facts, task: Task, onConfirmed: () => Promise<void>): Promise<Swapped> {
  const { offer } = choice;
  const except = new Set<Address>();
  let reason: ExactChangeError | undefined;
  let exact = false;
  for (;;) {
    const options = { signal: task.signal, except, toSwap: true, exact };
    const finding = exact ? findFunding(core, offer, facts, offer.amount, options) : findForAll(core, choice, facts, task.signal, except);
    const funding = await finding.catch((error: unknown) => {
      // That nothing else is worth the difference says less than what was wrong with the best.
      throw reason !== undefined && isExactChangeError(error, 'insufficient_funds') ? reason : error;
    });
    try {
      return await swapInto(core, choice, funding, task, onConfirmed);
    } catch (error) {
      // All that a swap takes counts against the caps of this payment, whatever else it is for.
      if (!exact && isOverCap(error) && broughtBy(funding) > offer.amount - facts.available) {
        exact = true;
        continue;
      }
      if (!concernsCandidate(error)) throw error;
      reason ??= error;
      if (except.add(funding.inputMint).size >= MAX_CANDIDATES) throw reason;
    }
  }
}

// Choosing takes a few answers of a node; one that hangs is not waited for.
const ARRIVAL_MS = 1_000;

/** A swap for all calls that wait by the time it is found: calls that are made together arrive one after the other. */
async function findForAll(
  core: Core,
  choice: Choice,
  facts: Facts,
  signal: AbortSignal | undefined,
  except: ReadonlySet<Address>,
): Promise<Funding> {
  const { waiting, arriving } = core.wallet;
  const { mint, amount } = choice.offer;
  // Calls that were made together are at different steps; those that are choosing may well lack the same token.
  if (arriving.size > 0) {
    const patience = core.config.runtime.idle(ARRIVAL_MS, signal);
    await Promise.race([Promise.all(arriving), patience]);
  }
  // What is bought of a token that is not pinned may be worth nothing: each payment buys what it lacks, and no more.
  const needs = () => (isPinned(core, mint) ? (waiting.get(mint) ?? amount) : amount);
  const needed = needs();
  const planned = choice.funding !== undefined && !except.has(choice.funding.inputMint) ? choice.funding : undefined;
  const found = reusable(planned, needed - facts.available) ?? (await findEnough(core, choice, facts, needed, signal, except));
  const neededNow = needs();
  const now = { ...facts, available: (await knownAvailable(core, facts.source)) ?? facts.available };
  if (neededNow <= needed || reusable(found, neededNow - now.available) !== undefined) return found;
  return findEnough(core, choice, now, neededNow, signal, except).catch(() => found);
}

/** For all that wait if that can be paid for, else for this payment alone. */
async function findEnough(
  core: Core,
  { offer }: Choice,
  facts: Facts,
  needed: bigint,
  signal: AbortSignal | undefined,
  except: ReadonlySet<Address>,
): Promise<Funding> {
  const find = (amount: bigint) => findFunding(core, offer, facts, amount, { signal, except, toSwap: true });
  return needed <= offer.amount ? find(offer.amount) : find(needed).catch(() => find(offer.amount));
}

function reusable(funding: Funding | undefined, missing: bigint): Funding | undefined {
  if (funding === undefined) return undefined;
  return broughtBy(funding) >= missing ? funding : undefined;
}

async function swapInto(
  core: Core,
  { offer }: Choice,
  funding: Funding,
  { emit, signal, onSwapPlanned, onSwapSigned, onSwapDecided, approve }: Task,
  onConfirmed: () => Promise<void>,
): Promise<Swapped> {
  const task = { emit, signal, onPlanned: onSwapPlanned, onSigned: onSwapSigned, onDecided: onSwapDecided, onConfirmed };
  const approved = await approve(funding);
  if ('wrap' in funding) return runWrap(core, funding.wrap, task);
  const { quote, built, available } = funding;
  const request = {
    inputMint: quote.inputMint,
    outputMint: quote.outputMint,
    // What is needed; a service may have claimed to bring more.
    amount: quote.minOutAmount,
    swapMode: 'ExactOut' as const,
    slippageBps: quote.slippageBps,
  };
  const keepWrapped = offer.mint === WSOL_MINT;
  if (!approved) return runSwap(core, { ...task, request, quote, built, available, keepWrapped });
  // Quoted anew, it may take no more than what was shown.
  return runSwap(core, { ...task, request, quote, built, approved, available: funding.maxInAmount, keepWrapped }).catch(
    (error: unknown) => {
      throw isExactChangeError(error, 'insufficient_funds') ? noLongerApproved(error) : error;
    },
  );
}

/** Takes the tokens if they are there. No swap runs on the account meanwhile: its guard must find what it counted on. */
function holdNow(core: Core, { offer, facts }: Choice, id: string, signal: AbortSignal | undefined): Promise<Taken | undefined> {
  const take = async () => {
    if ((await knownAvailable(core, facts.source)) === undefined) await freshFacts(core, { offer, facts }, signal);
    throwIfAborted(signal);
    return takeKnown(core, { offer, facts }, id);
  };
  return core.locks.hold([mintLock(offer.mint)], take, [signal, core.closing.signal]);
}

function takeKnown(core: Core, { offer, facts }: Pick<Choice, 'offer' | 'facts'>, id: string): Promise<Taken | undefined> {
  return core.ledger.take(facts.source, id, offer.amount, freshIn(core));
}

async function freshFacts(core: Core, { offer, facts }: Pick<Choice, 'offer' | 'facts'>, signal: AbortSignal | undefined): Promise<Facts> {
  const [one] = await survey(core, [offer], signal);
  if (one === undefined) return facts;
  if ('error' in one) throw one.error;
  return one.facts;
}
