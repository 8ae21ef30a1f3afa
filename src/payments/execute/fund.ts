import { throwIfAborted, untilAborted } from '../../internal/abort.js';
import type { Taken } from '../../journal/account-balance.js';
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
import type { Task } from '../task.js';

export interface FundTask extends Pick<Task, 'id' | 'emit' | 'signal' | 'moved' | 'onCounted'> {
  readonly reservation: Reservation;
  readonly approve: Approve;
  /** The tokens, if the reservation holds them already. */
  readonly taken: Taken | undefined;
}

export interface HeldFunds extends Taken {
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
  const { neededByMint } = context.wallet;
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
  // Count this payment before the first wait, so that another call's swap can cover it too.
  neededByMint.set(offer.mint, (neededByMint.get(offer.mint) ?? 0n) + offer.amount);
  task.onCounted();
  try {
    const held = await holdTokens(context, choice, id, signal);
    if (held !== undefined) return held;
    if (!context.config.autoSwap) {
      const { tooLittleHeld } = await reasons(signal);
      // Another process may have ended the attempt, which can hold no tokens then.
      await untilAborted(context.journal.put(task.reservation.attempt), signal);
      throw tooLittleHeld(ownerOf(context), offer, facts, false);
    }
    const work = swapEngine(signal).then(({ swapInTurn }) => swapInTurn(context, choice, task));
    return await untilAborted(work, signal).catch((error: unknown) => {
      // Release the hold that the work may still take, because no call is left to spend it.
      work.then(() => context.ledger.release(facts.source, id)).catch(() => undefined);
      throw error;
    });
  } finally {
    const stillWaiting = (neededByMint.get(offer.mint) ?? 0n) - offer.amount;
    if (stillWaiting > 0n) neededByMint.set(offer.mint, stillWaiting);
    else neededByMint.delete(offer.mint);
  }
}

/** Returns the name of the lock for moving a mint's tokens out of the wallet or into it. */
export function mintLock(mint: Address): string {
  return `mint ${mint}`;
}

/**
 * Returns the hold for a payment, to be taken in one step with its reservation. It is not taken
 * while a swap has the mint's lock, because the guard of that swap counts on the balance.
 */
export function holdFor(context: PaymentContext, { offer, facts }: Choice): Hold {
  return { account: facts.source, fresh: freshIn(context), unless: mintLock(offer.mint) };
}

// Look again, because a balance may become too old, or be forgotten, between two looks.
const MOST_LOOKS = 5;

/** Holds the tokens for a payment, under the mint's lock; undefined if there are too few. */
export function holdTokens(
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
      const taken = await holdIfKnown(context, { offer, facts }, id);
      if (taken !== undefined) return taken;
      if (known !== undefined && known < offer.amount) return undefined;
    }
    return undefined;
  };
  return context.locks.hold([mintLock(offer.mint)], take, [signal, context.closing.signal]);
}

/** Holds the tokens for a payment if the known balance has enough; else undefined. */
export function holdIfKnown(
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
  const [read] = await readOfferAccounts(context, [offer], signal);
  if (read === undefined) return facts;
  if ('error' in read) throw read.error;
  return read.facts;
}
