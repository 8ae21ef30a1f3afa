import { stopwatch } from '../../internal/stopwatch.js';
import type { Address } from '../../solana/types.js';
import type { PaymentContext } from '../context.js';
import type { Choice } from '../plan/choose.js';
import { broughtBy, findFunding, isPinned, type Funding } from '../plan/funding.js';
import { knownAvailable, type OfferFacts } from '../plan/offer-accounts.js';

// Choosing takes a few answers of a node; one that hangs is not waited for.
const ARRIVAL_MS = 1_000;
// For all of a crowd, each of which takes its turn.
const CROWD_MS = 10_000;
// The answers to calls that are made together come one after the other. Looked for several times,
// as a process that was not let run for so long has seen none of them either.
const [QUIET_MS, LOOKS] = [10, 5];

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
  const { waiting } = context.wallet;
  const { mint, amount } = choice.offer;
  await othersArrived(context, choice, signal);
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

/**
 * Waits for calls that were made together, which are at different steps: those that are choosing
 * may well lack the same token, and if others lack it, more of them may be on their way.
 */
async function othersArrived(
  { wallet, config }: PaymentContext,
  { offer: { mint, amount } }: Choice,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { waiting, arriving } = wallet;
  const { idle } = config.runtime;
  const elapsed = stopwatch(config.runtime);
  const these = [...arriving];
  const all = Promise.all(these);
  for (let left = these.length, still = 0; left > 0 && elapsed() < CROWD_MS;) {
    await Promise.race([all, idle(ARRIVAL_MS / LOOKS, signal)]);
    const now = these.filter((one) => arriving.has(one)).length;
    still = now === left ? still + 1 : 0;
    if (still === LOOKS) return;
    left = now;
  }
  let before = waiting.get(mint) ?? amount;
  let grownAt = elapsed();
  const isCrowd = () => before > amount && elapsed() < Math.min(grownAt + ARRIVAL_MS, CROWD_MS);
  for (let quiet = 0; quiet < LOOKS && isCrowd();) {
    await config.runtime.sleep(QUIET_MS, signal);
    const now = waiting.get(mint) ?? amount;
    quiet = arriving.size === 0 && now === before ? quiet + 1 : 0;
    if (now !== before) grownAt = elapsed();
    before = now;
  }
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
