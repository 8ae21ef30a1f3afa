import { isExactChangeError, type ExactChangeError } from '../../errors.js';
import { startLowPriority, throwIfAborted } from '../../internal/abort.js';
import type { SwapQuote } from '../../swaps/types.js';
import type { PaymentContext } from '../context.js';
import { priceOf } from './candidate-queue.js';

/**
 * So long a quote is waited for before others are asked for beside it, and those once a swap is
 * found.
 */
const PATIENCE_MS = 500;

/**
 * A token that is no dollar is valued at its selling price, which hides what its market costs: this
 * much of what a swap brings is no reason to leave the order.
 */
const SAME_BPS = 25n;
const WHOLE = 10_000n;

/**
 * What the search for the best candidate finds, if that is there soon and not dear: another could
 * only be chosen if it were a gain by the client's own prices, and quotes are scarce.
 */
export async function foundAlone<T extends { readonly quote: SwapQuote }>(
  context: PaymentContext,
  search: Promise<T | ExactChangeError>,
  signal: AbortSignal | undefined,
): Promise<T | undefined> {
  const patience = context.config.runtime.idle(PATIENCE_MS, signal);
  // What it fails with counts if the others find nothing either.
  const found = await Promise.race([search.catch(() => undefined), patience]);
  if (found === undefined || isExactChangeError(found)) return undefined;
  return (await isDear(context, found, signal)) ? undefined : found;
}

/**
 * The searches, made side by side, that were over within a while of the first that found something,
 * in their order. Throws what one throws if none found anything.
 */
export async function findTogether<T extends { readonly found: object }>(
  { config }: Pick<PaymentContext, 'config'>,
  searches: readonly Promise<T>[],
  signal: AbortSignal | undefined,
): Promise<T[]> {
  const over = new Map<number, T>();
  const found = new Set<T>();
  const first = new Promise<void>((resolve) => {
    searches.forEach((search, index) => {
      const note = (one: T) => {
        over.set(index, one);
        if (isExactChangeError(one.found)) return;
        found.add(one);
        resolve();
      };
      search.then(note, () => undefined);
    });
  });
  const patience = first.then(() => config.runtime.idle(PATIENCE_MS, signal));
  const all = await Promise.race([Promise.allSettled(searches), patience]);
  const failed = found.size > 0 ? undefined : all?.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  return [...over].sort(([a], [b]) => a - b).map(([, one]) => one);
}

/**
 * What a search finds beside a swap that there is already: it gives way to other work, is waited
 * for a while, and may fail.
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
 * The swap into one token that loses the least by the client's own prices; the first of those that
 * lose about the same.
 *
 * @param others - Searches among what comes later: called if each of the first is dear.
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

/** Whether a swap costs so much that one of the tokens that come later may cost less. */
async function isDear(
  context: PaymentContext,
  { quote }: { readonly quote: SwapQuote },
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const loss = await lossOf(context, quote, signal);
  return loss === undefined || loss > SAME_BPS;
}

/**
 * Of swaps into one token, the one that loses the least by the client's own prices; the first of
 * those that lose about the same. Fees and rent are left out: they are the same for all. What has
 * no price comes last.
 */
async function cheapest<T extends { readonly quote: SwapQuote }>(
  context: PaymentContext,
  first: T,
  others: readonly T[],
  signal: AbortSignal | undefined,
): Promise<T> {
  if (others.length === 0) return first;
  let best = { swap: first, loss: await lossOf(context, first.quote, signal) };
  for (const swap of others) {
    const loss = await lossOf(context, swap.quote, signal);
    if (loss !== undefined && (best.loss === undefined || loss + SAME_BPS < best.loss))
      best = { swap, loss };
  }
  return best.swap;
}

/** Basis points of what it brings; below zero if it takes less than that. */
async function lossOf(
  context: PaymentContext,
  { inputMint, inAmount, outputMint, outAmount }: SwapQuote,
  signal: AbortSignal | undefined,
): Promise<bigint | undefined> {
  // Mostly known: each quote was held against them.
  const [input, output] = await Promise.all(
    [inputMint, outputMint].map((mint) => priceOf(context, mint, signal)),
  );
  if (input === undefined || output === undefined) return undefined;
  const brought = output.least(BigInt(outAmount));
  return brought === 0n ? undefined : ((input.about(BigInt(inAmount)) - brought) * WHOLE) / brought;
}
