import type { Address } from '../../solana/types.js';
import type { PaymentContext } from '../context.js';
import type { Choice } from '../plan/choose.js';
import { broughtBy, findFunding, isPinned, type Funding } from '../plan/funding.js';
import { knownAvailable, type OfferFacts } from '../plan/offer-accounts.js';

// Choosing takes a few answers of a node; one that hangs is not waited for.
const ARRIVAL_MS = 1_000;

/**
 * A swap for all calls that wait by the time it is found: calls that are made together arrive one
 * after the other.
 */
export async function findForAll(
  context: PaymentContext,
  choice: Choice,
  facts: OfferFacts,
  signal: AbortSignal | undefined,
  except: ReadonlySet<Address>,
): Promise<Funding> {
  const { waiting, arriving } = context.wallet;
  const { mint, amount } = choice.offer;
  // Calls that were made together are at different steps; those that are choosing may well lack the
  // same token.
  if (arriving.size > 0) {
    const patience = context.config.runtime.idle(ARRIVAL_MS, signal);
    await Promise.race([Promise.all(arriving), patience]);
  }
  // What is bought of a token that is not pinned may be worth nothing: each payment buys what it
  // lacks, and no more.
  const needs = () => (isPinned(context, mint) ? (waiting.get(mint) ?? amount) : amount);
  const needed = needs();
  const planned =
    choice.funding !== undefined && !except.has(choice.funding.inputMint)
      ? choice.funding
      : undefined;
  const found =
    reusable(planned, needed - facts.available) ??
    (await findEnough(context, choice, facts, needed, signal, except));
  const neededNow = needs();
  const now = {
    ...facts,
    available: (await knownAvailable(context, facts.source)) ?? facts.available,
  };
  if (neededNow <= needed || reusable(found, neededNow - now.available) !== undefined) return found;
  return findEnough(context, choice, now, neededNow, signal, except).catch(() => found);
}

/** For all that wait if that can be paid for, else for this payment alone. */
async function findEnough(
  context: PaymentContext,
  { offer }: Choice,
  facts: OfferFacts,
  needed: bigint,
  signal: AbortSignal | undefined,
  except: ReadonlySet<Address>,
): Promise<Funding> {
  const find = (amount: bigint) =>
    findFunding(context, offer, facts, amount, { signal, except, toPay: offer });
  return needed <= offer.amount ? find(offer.amount) : find(needed).catch(() => find(offer.amount));
}

function reusable(funding: Funding | undefined, missing: bigint): Funding | undefined {
  if (funding === undefined) return undefined;
  return broughtBy(funding) >= missing ? funding : undefined;
}
