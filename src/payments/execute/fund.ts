import type { Moved } from '../../errors.js';
import type { Emit } from '../../events.js';
import { throwIfAborted, untilAborted } from '../../internal/abort.js';
import type { Taken } from '../../journal/balance-ledger.js';
import type { Hold } from '../../journal/types.js';
import type { Address } from '../../solana/types.js';
import { ownerOf, type PaymentContext } from '../context.js';
import type { Choice } from '../plan/choose.js';
import {
  freshIn,
  knownAvailable,
  readOfferAccounts,
  type OfferFacts,
} from '../plan/offer-accounts.js';
import type { Swapped } from '../reconcile/swap-end.js';
import type { Approve } from './ask-approval.js';
import type { Reservation } from './reservation.js';
import { reasons, swapEngine } from '../on-demand.js';

/** What funds one payment. */
export interface FundTask {
  /** The attempt's. */
  readonly id: string;
  readonly emit: Emit;
  readonly signal: AbortSignal | undefined;
  /** Grows by what lands, also if this fails. */
  readonly moved: Moved[];
  /** Counts and records the swaps. */
  readonly reservation: Reservation;
  /** Asks whether the swap and the payment may be signed. */
  readonly approve: Approve;
  /** Called once what the payment needs is counted among what waits. */
  readonly onCounted: () => void;
  /** The tokens, if they are held for it already. */
  readonly taken: Taken | undefined;
}

/** Tokens that are held for a payment. */
export interface HeldFunds extends Taken {
  /** The swap that brought them, if one had to. */
  readonly swap?: Swapped | undefined;
}

/**
 * Holds the tokens for a payment, and swaps first if there are too few. One swap serves all
 * payments in a pinned mint that wait for it.
 */
export async function fundPayment(
  context: PaymentContext,
  choice: Choice,
  task: FundTask,
): Promise<HeldFunds> {
  const { offer, facts } = choice;
  const { id, emit, signal } = task;
  const { waiting } = context.wallet;
  const missing = offer.amount > facts.available ? offer.amount - facts.available : 0n;
  emit('balance.checked', {
    mint: offer.mint,
    available: facts.available.toString(),
    required: offer.amount.toString(),
    missing: missing.toString(),
  });
  if (task.taken !== undefined) {
    task.onCounted();
    return task.taken;
  }
  // Counted before the first wait: a call that looks for a swap meanwhile lets it cover this
  // payment too.
  waiting.set(offer.mint, (waiting.get(offer.mint) ?? 0n) + offer.amount);
  task.onCounted();
  try {
    const held = await holdNow(context, choice, id, signal);
    if (held !== undefined) return held;
    if (!context.config.autoSwap)
      throw (await reasons('untouched', signal)).shortOf(ownerOf(context), offer, facts);
    // Held by the call that swaps into this mint; the others wait and mostly find enough
    // afterwards.
    const work = context.locks.hold(
      [swapLock(offer.mint)],
      async () => (await swapEngine()).swapAndHold(context, choice, task),
      [signal, context.closing.signal],
    );
    return await untilAborted(work, signal).catch((error: unknown) => {
      // No call is left to spend what it may come to hold.
      work.then(() => context.ledger.release(facts.source, id)).catch(() => undefined);
      throw error;
    });
  } finally {
    const rest = (waiting.get(offer.mint) ?? 0n) - offer.amount;
    if (rest > 0n) waiting.set(offer.mint, rest);
    else waiting.delete(offer.mint);
  }
}

/** The lock of what finds and makes a swap into a mint. */
export function swapLock(mint: Address): string {
  return `swap ${mint}`;
}

/** The lock of what moves a mint's tokens out of or into the wallet. */
export function mintLock(mint: Address): string {
  return `mint ${mint}`;
}

/**
 * The tokens for a payment, to be held when it is reserved. No swap runs on the account meanwhile:
 * its guard must find what it counted on.
 */
export function holdFor(context: PaymentContext, { offer, facts }: Choice): Hold {
  return { account: facts.source, fresh: freshIn(context), unless: mintLock(offer.mint) };
}

// A balance may grow old, or be forgotten, between a look and the next: it is looked at again.
const MOST_LOOKS = 5;

/** Takes them by themselves, if they are there. */
export function holdNow(
  context: PaymentContext,
  { offer, facts }: Choice,
  id: string,
  signal: AbortSignal | undefined,
): Promise<Taken | undefined> {
  const take = async () => {
    for (let looks = 1; looks <= MOST_LOOKS; looks += 1) {
      const known = await knownAvailable(context, facts.source);
      if (known === undefined) await freshFacts(context, { offer, facts }, signal);
      throwIfAborted(signal);
      const taken = await takeKnown(context, { offer, facts }, id);
      if (taken !== undefined) return taken;
      if (known !== undefined && known < offer.amount) return undefined;
    }
    return undefined;
  };
  return context.locks.hold([mintLock(offer.mint)], take, [signal, context.closing.signal]);
}

export function takeKnown(
  context: PaymentContext,
  { offer, facts }: Pick<Choice, 'offer' | 'facts'>,
  id: string,
): Promise<Taken | undefined> {
  return context.ledger.take(facts.source, id, offer.amount, freshIn(context));
}

export async function freshFacts(
  context: PaymentContext,
  { offer, facts }: Pick<Choice, 'offer' | 'facts'>,
  signal: AbortSignal | undefined,
): Promise<OfferFacts> {
  const [one] = await readOfferAccounts(context, [offer], signal);
  if (one === undefined) return facts;
  if ('error' in one) throw one.error;
  return one.facts;
}
