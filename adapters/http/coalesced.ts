import type { SwapQuote, SwapRequest } from '../../src/swaps/types.js';
import type { TokenBalance, Transport } from '../../src/transport.js';
import { createSharedCalls } from './shared-calls.js';

/**
 * Milliseconds for which an answer is given to all calls that ask the same; 0: each call is made
 * for its caller alone.
 */
export interface Freshness {
  readonly quoteMs: number;
  readonly balanceMs: number;
}

/** Of each kind, the largest of some ten kilobytes. */
const MAX_KEPT = 1_000;

/**
 * A transport whose quotes and balances many callers share: see {@link createSharedCalls}. What
 * decides on money, `buildSwap` and `autoPay`, passes: it reads for itself, past this.
 */
export function coalesced(
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
        (await transport.balance(request, { signal })).map((one) => Object.freeze({ ...one }));
      return [...(await balances(key, ask, options?.signal))];
    },
    buildSwap: (request, options) => transport.buildSwap(request, options),
    parsePayment: (parts, options) => transport.parsePayment(parts, options),
    autoPay: (request, options) => transport.autoPay(request, options),
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

/** No caller's copy of it changes another's. */
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
    Object.fromEntries(Object.entries(value).map(([name, one]) => [name, frozenCopy(one)])),
  );
}
