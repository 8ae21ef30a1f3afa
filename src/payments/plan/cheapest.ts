import { WHOLE } from '../../amount.js';
import { isExactChangeError, type ExactChangeError } from '../../errors.js';
import { startLowPriority, throwIfAborted } from '../../internal/abort.js';
import type { SwapQuote } from '../../swaps/types.js';
import type { PaymentContext } from '../context.js';
import { priceOf } from './candidate-queue.js';

/**
 * Milliseconds to wait for the best candidate's quote before other candidates are quoted too, and
 * to wait for their quotes once a swap is found.
 */
const PATIENCE_MS = 500;

/**
 * Losses that differ by no more than this do not change the order of candidates. A token that is no
 * dollar is valued at its selling price, which hides its market's spread.
 */
const SAME_BPS = 25n;

/**
 * Returns the swap out of the best candidate if it is found soon and is not dear. Then a different
 * candidate could hardly be cheaper, and quotes are scarce.
 */
export async function foundAlone<T extends { readonly quote: SwapQuote }>(
  context: PaymentContext,
  search: Promise<T | ExactChangeError>,
  signal: AbortSignal | undefined,
): Promise<T | undefined> {
  const patience = context.config.runtime.idle(PATIENCE_MS, signal);
  // Its error counts later, if the other candidates find nothing either.
  const found = await Promise.race([search.catch(() => undefined), patience]);
  if (found === undefined || isExactChangeError(found)) return undefined;
  return (await isDear(context, found, signal)) ? undefined : found;
}

/**
 * Waits for parallel searches. Returns the results that are there within `PATIENCE_MS` of the first
 * swap that is found, in the order of the searches. If none finds a swap and a search rejects,
 * throws its error.
 */
export async function findTogether<T extends { readonly found: object }>(
  { config }: Pick<PaymentContext, 'config'>,
  searches: readonly Promise<T>[],
  signal: AbortSignal | undefined,
): Promise<T[]> {
  const results = new Map<number, T>();
  const found = new Set<T>();
  const first = new Promise<void>((resolve) => {
    searches.forEach((search, index) => {
      const note = (result: T) => {
        results.set(index, result);
        if (isExactChangeError(result.found)) return;
        found.add(result);
        resolve();
      };
      search.then(note, () => undefined);
    });
  });
  const patience = first.then(() => config.runtime.idle(PATIENCE_MS, signal));
  const all = await Promise.race([Promise.allSettled(searches), patience]);
  const failed = found.size > 0 ? undefined : all?.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  return [...results].sort(([a], [b]) => a - b).map(([, result]) => result);
}

/**
 * Runs a low-priority search for swaps that may be cheaper than a swap already found. Returns
 * nothing if the search fails or takes longer than `PATIENCE_MS`.
 */
async function foundBeside<T>(
  { config, closing }: Pick<PaymentContext, 'config' | 'closing'>,
  search: (signal: AbortSignal) => Promise<readonly T[]>,
  signal: AbortSignal | undefined,
): Promise<readonly T[]> {
  const beside = startLowPriority(signal ?? closing.signal);
  const none = (): readonly T[] => [];
  try {
    const patience = config.runtime.idle(PATIENCE_MS, beside.signal).then(none);
    return await Promise.race([search(beside.signal), patience]);
  } catch (error) {
    throwIfAborted(signal);
    if (isExactChangeError(error)) return [];
    throw error;
  } finally {
    beside.end();
  }
}

/**
 * Returns the swap that loses the least by the client's own prices; the first if several lose about
 * the same. All swaps are into the same token.
 *
 * @param others - Searches the later candidates: called if the best of the first swaps is dear.
 */
export async function cheapestOfAll<T extends { readonly quote: SwapQuote }>(
  context: PaymentContext,
  [first, ...more]: readonly [T, ...T[]],
  others: (signal: AbortSignal) => Promise<readonly T[]>,
  signal: AbortSignal | undefined,
): Promise<T> {
  const best = await cheapest(context, first, more, signal);
  if (!(await isDear(context, best, signal))) return best;
  return cheapest(context, best, await foundBeside(context, others, signal), signal);
}

async function isDear(
  context: PaymentContext,
  { quote }: { readonly quote: SwapQuote },
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const loss = await lossBpsOf(context, quote, signal);
  return loss === undefined || loss > SAME_BPS;
}

/**
 * Returns the swap that loses the least by the client's own prices; the first if several lose about
 * the same. Leaves out fees and rent, which are the same for all. A swap without a price comes
 * last.
 */
async function cheapest<T extends { readonly quote: SwapQuote }>(
  context: PaymentContext,
  first: T,
  others: readonly T[],
  signal: AbortSignal | undefined,
): Promise<T> {
  if (others.length === 0) return first;
  let best = { swap: first, loss: await lossBpsOf(context, first.quote, signal) };
  for (const swap of others) {
    const loss = await lossBpsOf(context, swap.quote, signal);
    if (loss !== undefined && (best.loss === undefined || loss + SAME_BPS < best.loss))
      best = { swap, loss };
  }
  return best.swap;
}

/** Returns a swap's loss in basis points of the value it brings; negative for a gain. */
async function lossBpsOf(
  context: PaymentContext,
  { inputMint, inAmount, outputMint, outAmount }: SwapQuote,
  signal: AbortSignal | undefined,
): Promise<bigint | undefined> {
  // These prices are mostly in memory, because each quote was checked against them.
  const [input, output] = await Promise.all(
    [inputMint, outputMint].map((mint) => priceOf(context, mint, signal)),
  );
  if (input === undefined || output === undefined) return undefined;
  const brought = output.least(BigInt(outAmount));
  return brought === 0n ? undefined : ((input.about(BigInt(inAmount)) - brought) * WHOLE) / brought;
}
