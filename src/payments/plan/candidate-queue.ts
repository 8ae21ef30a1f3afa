import { isExactChangeError, type ExactChangeError } from '../../errors.js';
import { sinceThen } from '../../internal/runtime.js';
import { pinnedMint } from '../../network.js';
import type { Address } from '../../solana/types.js';
import { orderCandidates, type Candidate, type Holdings } from '../../swaps/quote/candidates.js';
import type { PaymentContext } from '../context.js';
import { reservedOf } from './holdings.js';
import { KEEP_LAMPORTS } from './keep-lamports.js';
import { noneIfFailed } from './none-if-failed.js';
import { isPriceUnknown, usdPriceOf } from './usd-price.js';
import type { UsdPrice } from './usd-value.js';

// jupiter.md 2.4: a payment may make about this many calls.
export const MAX_UNSELLABLE = 8;

const MAX_VALUED = 5;
/** Milliseconds for which the input token of a failed swap is not compared with pinned tokens. */
const FAILED_MS = 10 * 60_000;
/** The most candidates that are quoted in parallel. */
export const MAX_COMPARED = 3;

export async function candidatesIn(
  context: PaymentContext,
  holdings: Holdings,
  mint: Address,
  except: ReadonlySet<Address> = new Set(),
): Promise<readonly Candidate[]> {
  return orderCandidates(holdings, {
    outputMint: mint,
    keepLamports: KEEP_LAMPORTS,
    swapFrom: context.config.swapFrom,
    reserved: await reservedOf(context, holdings),
  }).filter((candidate) => !except.has(candidate.mint));
}

/**
 * Returns the first candidate that may be worth an amount of a mint, by the client's own prices.
 * This saves quotes for candidates that are worth too little.
 */
export async function firstThatPays(
  context: PaymentContext,
  candidates: readonly Candidate[],
  mint: Address,
  amount: bigint,
  signal: AbortSignal | undefined,
): Promise<Candidate | undefined> {
  for (const candidate of candidates)
    if (await mayPay(context, candidate, mint, amount, signal)) return candidate;
  return undefined;
}

/**
 * Returns whether a candidate may be worth an amount of a mint. A candidate or mint without a price
 * may be.
 *
 * The first call that needs a price does not wait for it: it returns true, so its quote runs in
 * parallel with the search for the price. Concurrent calls wait for that price, so that together
 * they cost at most one quote too many.
 */
export async function mayPay(
  context: PaymentContext,
  candidate: Candidate,
  mint: Address,
  amount: bigint,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const mints = [candidate.mint, mint];
  const isFirst = mints.some((priced) => isPriceUnknown(context, priced, signal));
  const prices = Promise.all(mints.map((priced) => priceOf(context, priced, signal)));
  prices.catch(() => undefined);
  if (isFirst) return true;
  const [inputPrice, outputPrice] = await prices;
  return (
    inputPrice === undefined ||
    outputPrice === undefined ||
    inputPrice.most(candidate.available) >= outputPrice.least(amount)
  );
}

/**
 * Returns a mint's price; undefined if it cannot be determined. The check that needs the price
 * throws the reason later.
 */
export function priceOf(
  context: PaymentContext,
  mint: Address,
  signal: AbortSignal | undefined,
): Promise<UsdPrice | undefined> {
  return usdPriceOf(context, mint, signal).catch(noneIfFailed);
}

interface Queue {
  /** The first pinned candidates, to compare their costs; empty if the caller gave an order. */
  readonly comparable: readonly Candidate[];
  /** Returns the candidates that are not pinned; none if the caller gave an order. */
  others(signal: AbortSignal): Promise<readonly Candidate[]>;
  /** Returns the candidates to try first, with no more requests than their order needs. */
  first(): Promise<readonly Candidate[]>;
  all(): AsyncIterable<Candidate>;
}

/**
 * Returns candidates in their order: the caller's order, or stablecoins, SOL, then other tokens by
 * value. Other tokens are read only when they are reached. They are priced only if there are
 * several, because a price costs a quote.
 *
 * @param readOthers - Reads the candidates that are not pinned; none if the caller gave an order.
 */
export function candidatesByValue(
  context: PaymentContext,
  candidates: readonly Candidate[],
  readOthers: () => Promise<readonly Candidate[]>,
  signal: AbortSignal | undefined,
): Queue {
  const { network, swapFrom } = context.config;
  const isPinned = ({ mint }: Candidate) => pinnedMint(network, mint) !== undefined;
  const first = swapFrom === undefined ? candidates.filter(isPinned) : candidates;
  const hasNotFailed = ({ mint }: Candidate) => {
    const failedAt = context.memory.failedInputs.get(mint);
    return failedAt === undefined || sinceThen(context.config.runtime, failedAt) > FAILED_MS;
  };
  let sorted: readonly Candidate[] | undefined;
  const sortedOthers = async () => {
    const others = await readOthers();
    return (sorted ??= others.length > 1 ? await byValue(context, others, signal) : others);
  };
  return {
    comparable: swapFrom === undefined ? first.slice(0, MAX_COMPARED) : [],
    others: async (othersSignal) =>
      byValue(context, (await readOthers()).filter(hasNotFailed), othersSignal),
    first: async () => (first.length > 0 ? first : sortedOthers()),
    async *all() {
      yield* first;
      yield* await sortedOthers();
    },
  };
}

async function byValue(
  context: PaymentContext,
  candidates: readonly Candidate[],
  signal: AbortSignal | undefined,
): Promise<Candidate[]> {
  const valued: { candidate: Candidate; microUsd: bigint }[] = [];
  let unpriced = 0;
  for (const candidate of candidates) {
    if (unpriced >= MAX_UNSELLABLE || valued.length >= MAX_VALUED) break;
    const worth = await usdPriceOf(context, candidate.mint, signal);
    if (worth === undefined) unpriced += 1;
    else valued.push({ candidate, microUsd: worth.least(candidate.available) });
  }
  valued.sort((a, b) => (a.microUsd < b.microUsd ? 1 : a.microUsd > b.microUsd ? -1 : 0));
  const priced = valued.map(({ candidate }) => candidate);
  // Keep candidates without a price, because the policy may bound them in base units.
  return [...priced, ...candidates.filter((candidate) => !priced.includes(candidate))];
}

// Errors that the token, its account or its market causes.
const CANDIDATE_CODES: readonly string[] = [
  'account_unusable',
  'unknown_mint',
  'mint_not_supported',
  'unsafe_swap',
  'transaction_too_large',
  'simulation_failed',
  'no_route',
  'price_impact_too_high',
  'swap_overhead_too_high',
  'price_unknown',
  'quote_mismatch',
  'amount_over_limit',
];

/**
 * Returns whether a swap from a different token may succeed: the failed swap signed nothing, and
 * only its own input token caused the error.
 */
export function concernsCandidate(error: unknown): error is ExactChangeError {
  return (
    isExactChangeError(error) && error.funds === 'untouched' && CANDIDATE_CODES.includes(error.code)
  );
}
