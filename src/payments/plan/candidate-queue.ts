import { isExactChangeError } from '../../errors.js';
import { sinceThen } from '../../internal/runtime.js';
import { pinnedMint } from '../../network.js';
import type { Address } from '../../solana/types.js';
import { orderCandidates, type Candidate, type Holdings } from '../../swaps/quote/candidates.js';
import type { PaymentContext } from '../context.js';
import { reservedOf } from './holdings.js';
import { isPriceUnknown, usdPriceOf } from './usd-price.js';
import type { UsdPrice } from './usd-value.js';

// jupiter.md 2.4: about so many calls for one payment.
export const MAX_UNSELLABLE = 8;

const MAX_VALUED = 5;
/** For so long a token that a swap failed out of is not looked at beside those that are pinned. */
const FAILED_MS = 10 * 60_000;
/** So many are quoted side by side. */
export const MAX_COMPARED = 3;

// Fees, and the rent of the accounts that a swap may have to create; what it really takes is
// checked against the wallet before signing.
export const KEEP_LAMPORTS = 8_000_000n;

/** What of the wallet may be swapped into a mint. */
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

/** By the client's own prices, so that no quote is asked for of what cannot be enough. */
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
 * What has no price may pay. So may what has none yet, as long as no other call waits for that
 * price: the first quotes beside it, and so many strangers that ask together cost one quote more.
 */
export async function mayPay(
  context: PaymentContext,
  candidate: Candidate,
  mint: Address,
  amount: bigint,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const mints = [candidate.mint, mint];
  const isFirst = mints.some((one) => isPriceUnknown(context, one, signal));
  const prices = Promise.all(mints.map((one) => priceOf(context, one, signal)));
  prices.catch(() => undefined);
  if (isFirst) return true;
  const [worth, wanted] = await prices;
  return (
    worth === undefined ||
    wanted === undefined ||
    worth.most(candidate.available) >= wanted.least(amount)
  );
}

/** Whatever keeps it from being known is met again by the check that needs it. */
export function priceOf(
  context: PaymentContext,
  mint: Address,
  signal: AbortSignal | undefined,
): Promise<UsdPrice | undefined> {
  return usdPriceOf(context, mint, signal).catch((error: unknown) => {
    if (isExactChangeError(error)) return undefined;
    throw error;
  });
}

interface Queue {
  /** The first few that are pinned, whose costs are compared; none if the caller gave an order. */
  readonly comparable: readonly Candidate[];
  /** Those that come after all that are pinned; none if the caller gave an order. */
  others(signal: AbortSignal): Promise<readonly Candidate[]>;
  /** Those that are tried first, with no more asked for than their order needs. */
  first(): Promise<readonly Candidate[]>;
  all(): AsyncIterable<Candidate>;
}

/**
 * Gives out candidates in their order: the caller's own, or stablecoins, SOL, then others by value.
 * Others are read, and priced, only when they are reached, and priced only if there are several: a
 * price costs a quote.
 *
 * @param readOthers - Those that are not pinned; none if the caller gave an order.
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
  const isSound = ({ mint }: Candidate) => {
    const failedAt = context.memory.failedInputs.get(mint);
    return failedAt === undefined || sinceThen(context.config.runtime, failedAt) > FAILED_MS;
  };
  let sorted: readonly Candidate[] | undefined;
  const rest = async () => {
    const others = await readOthers();
    return (sorted ??= others.length > 1 ? await byValue(context, others, signal) : others);
  };
  return {
    comparable: swapFrom === undefined ? first.slice(0, MAX_COMPARED) : [],
    others: async (beside) => byValue(context, (await readOthers()).filter(isSound), beside),
    first: async () => (first.length > 0 ? first : rest()),
    async *all() {
      yield* first;
      yield* await rest();
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
  // Without a price they may still be bounded by the caller's own policy.
  return [...priced, ...candidates.filter((candidate) => !priced.includes(candidate))];
}
