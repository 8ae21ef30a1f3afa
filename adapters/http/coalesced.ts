import type { SwapQuote, SwapRequest } from '../../src/swaps/types.js';
import { transportOf, type TokenBalance, type Transport } from '../../src/transport.js';
import { createSharedCalls } from './shared-calls.js';

/** Milliseconds for which equal calls share an answer; 0: no call shares. */
export interface Freshness {
  readonly quoteMs: number;
  readonly balanceMs: number;
}

/** Answers of each kind that are kept; the largest have some ten kilobytes. */
const MAX_KEPT = 1_000;

/**
 * Wraps a transport so that callers share quotes and balances: see {@link createSharedCalls}.
 * `buildSwap` and `autoPay` decide on money, so they use no shared answer.
 */
export function withSharedReads(
  transport: Transport,
  { quoteMs, balanceMs }: Freshness,
  now: () => number,
): Transport {
  const quotes = createSharedCalls<SwapQuote>({ freshMs: quoteMs, maxKept: MAX_KEPT, now });
  const balances = createSharedCalls<readonly TokenBalance[]>({
    freshMs: balanceMs,
    maxKept: MAX_KEPT,
    now,
  });
  return {
    ...transportOf(() => Promise.resolve(transport)),
    async quote(request, options) {
      if (quoteMs === 0) return transport.quote(request, options);
      return quotes(
        keyOfQuote(request),
        async (signal) => frozenQuote(await transport.quote(request, { signal })),
        options?.signal,
      );
    },
    async balance(request, options) {
      if (balanceMs === 0) return transport.balance(request, options);
      const { wallet, mint } = request;
      const key = JSON.stringify([wallet, typeof mint === 'string' ? [mint] : mint]);
      const ask = async (signal: AbortSignal) =>
        (await transport.balance(request, { signal })).map((balance) =>
          Object.freeze({ ...balance }),
        );
      return [...(await balances(key, ask, options?.signal))];
    },
  };
}

function keyOfQuote({
  inputMint,
  outputMint,
  amount,
  swapMode = 'ExactIn',
  slippageBps,
  maxAccounts,
}: SwapRequest): string {
  return JSON.stringify([
    inputMint,
    outputMint,
    amount.toString(),
    swapMode,
    slippageBps,
    maxAccounts,
  ]);
}

/** Returns a frozen copy of a quote, so that no caller changes the quote of other callers. */
function frozenQuote(quote: SwapQuote): SwapQuote {
  return Object.freeze({
    ...quote,
    route: Object.freeze([...quote.route]),
    raw: frozenCopy(quote.raw),
  });
}

function frozenCopy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(frozenCopy));
  return Object.freeze(
    Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, frozenCopy(inner)])),
  );
}
