import { stopwatch } from '../../internal/stopwatch.js';
import type { Address } from '../../solana/types.js';
import type { PaymentContext } from '../context.js';
import type { Choice } from '../plan/choose.js';
import { broughtBy, findFunding, isPinned, type Funding } from '../plan/funding.js';
import { knownAvailable, type OfferFacts } from '../plan/offer-accounts.js';

// Choosing an offer takes a few answers of a node. A node that hangs is not waited for.
const ARRIVAL_MS = 1_000;
// Longest wait for a crowd of calls, because each of them waits for its turn.
const CROWD_MS = 10_000;
// Calls that are made together get their answers one after the other. Several looks must see no new
// call, because a process that was suspended during one look has seen no answers either.
const [QUIET_MS, LOOKS] = [10, 5];

/**
 * Finds a swap that covers every call that waits by then. Calls that are made together arrive one
 * after the other, so it waits for them first. If more arrive meanwhile, it looks again.
 */
export async function findForAll(
  context: PaymentContext,
  choice: Choice,
  facts: OfferFacts,
  signal: AbortSignal | undefined,
  except: ReadonlySet<Address>,
): Promise<Funding> {
  const { neededByMint } = context.wallet;
  const { mint, amount } = choice.offer;
  await waitForCrowd(context, choice, signal);
  // A token that is not pinned may be worth nothing, so each payment buys only what it lacks.
  const amountNeeded = () =>
    isPinned(context, mint) ? (neededByMint.get(mint) ?? amount) : amount;
  const needed = amountNeeded();
  const planned =
    choice.funding !== undefined && !except.has(choice.funding.inputMint)
      ? choice.funding
      : undefined;
  const found =
    reusable(planned, needed - facts.available) ??
    (await findEnough(context, choice, facts, needed, signal, except));
  const neededNow = amountNeeded();
  const factsNow = {
    ...facts,
    available: (await knownAvailable(context, facts.source)) ?? facts.available,
  };
  if (neededNow <= needed || reusable(found, neededNow - factsNow.available) !== undefined)
    return found;
  return findEnough(context, choice, factsNow, neededNow, signal, except).catch(() => found);
}

/**
 * Waits for calls that were made together. First it waits for calls that still choose an offer,
 * because they may lack the same token. Then, if other payments lack it too, it waits until no more
 * of them arrive.
 */
async function waitForCrowd(
  { wallet, config }: PaymentContext,
  { offer: { mint, amount } }: Choice,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { neededByMint, choosingCalls } = wallet;
  const { idle } = config.runtime;
  const elapsed = stopwatch(config.runtime);
  const choosing = [...choosingCalls];
  const allChosen = Promise.all(choosing);
  for (let left = choosing.length, stillLooks = 0; left > 0 && elapsed() < CROWD_MS;) {
    await Promise.race([allChosen, idle(ARRIVAL_MS / LOOKS, signal)]);
    const leftNow = choosing.filter((call) => choosingCalls.has(call)).length;
    stillLooks = leftNow === left ? stillLooks + 1 : 0;
    if (stillLooks === LOOKS) return;
    left = leftNow;
  }
  let needed = neededByMint.get(mint) ?? amount;
  let changedAt = elapsed();
  const isCrowd = () => needed > amount && elapsed() < Math.min(changedAt + ARRIVAL_MS, CROWD_MS);
  for (let quietLooks = 0; quietLooks < LOOKS && isCrowd();) {
    await config.runtime.sleep(QUIET_MS, signal);
    const neededNow = neededByMint.get(mint) ?? amount;
    quietLooks = choosingCalls.size === 0 && neededNow === needed ? quietLooks + 1 : 0;
    if (neededNow !== needed) changedAt = elapsed();
    needed = neededNow;
  }
}

/** Finds a swap that covers every waiting payment; if that fails, a swap for this payment alone. */
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
