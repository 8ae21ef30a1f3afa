import { isExactChangeError } from '../../errors.js';
import { setNewest } from '../../internal/newest.js';
import { sinceThen, type Runtime } from '../../internal/runtime.js';
import type { SwapProvider, SwapSource } from '../provider.js';
import { unbuildable } from './answer.js';
import { inOrder } from '../quote/first-route.js';
import { createJupiterHttp } from './http.js';
import { jupiterLimiter } from './limiter.js';
import { createJupiterV1 } from './v1.js';
import { createJupiterV2 } from './v2.js';

export const connect: SwapSource['connect'] = (
  { jupiterUrl: baseUrl, jupiterApiKey: apiKey, fetch, timeouts, runtime },
  taker,
) => {
  const timeoutMs = timeouts.jupiter;
  const http = createJupiterHttp({
    fetch,
    timeoutMs,
    runtime,
    limiter: jupiterLimiter({ baseUrl, apiKey, timeoutMs }, runtime),
  });
  const options = { baseUrl, apiKey, http, runtime };
  return Promise.resolve(
    createFallback({
      first: createJupiterV1(options),
      second: createJupiterV2({ ...options, taker }),
      runtime,
    }),
  );
};

interface FallbackOptions {
  /** Quotes `ExactOut`. */
  readonly first: SwapProvider;
  /** Quotes `ExactIn` only; asked if `first` has no route or is switched off. */
  readonly second: SwapProvider;
  readonly runtime: Runtime;
}

// Jupiter v1 is superseded: after it is switched off, it answers with one of these statuses.
const SUNSET: ReadonlySet<number> = new Set([401, 404, 410]);
const REMEMBER_MS = 60_000;
const MAX_REMEMBERED = 256;

/**
 * Joins two providers into one. If `first` cannot quote a pair `ExactOut`, `second` quotes the pair
 * next, because its quotes come with their instructions. A rate limit or an outage never changes
 * the provider: both are behind the same gateway.
 */
export function createFallback({ first, second, runtime }: FallbackOptions): SwapProvider {
  let isFirstGone = false;
  /** Milliseconds since the epoch at which each pair had no `ExactOut` route. */
  const withoutExactOut = new Map<string, number>();

  const sunset = (error: unknown): boolean => {
    if (!isExactChangeError(error, 'jupiter_unavailable') || !SUNSET.has(error.details.status))
      return false;
    isFirstGone = true;
    return true;
  };
  return {
    id: 'jupiter',
    async quote(intent, signal) {
      const pair = `${intent.inputMint} ${intent.outputMint}`;
      if (intent.swapMode === 'ExactOut') {
        try {
          if (!isFirstGone) return await first.quote(intent, signal);
        } catch (error) {
          if (!sunset(error)) {
            if (isExactChangeError(error, 'no_route'))
              setNewest(withoutExactOut, pair, runtime.now(), MAX_REMEMBERED);
            throw error;
          }
        }
        // It says itself that it quotes exact inputs only.
        return second.quote(intent, signal);
      }
      const order = isFirstGone
        ? [second]
        : sinceThen(runtime, withoutExactOut.get(pair) ?? -Infinity) < REMEMBER_MS
          ? [second, first]
          : [first, second];
      return inOrder(
        order,
        (provider) => provider.quote(intent, signal),
        (error) => isExactChangeError(error, 'no_route') || sunset(error),
      );
    },
    async build(quote, wallet, signal) {
      const provider = [first, second].find(({ id }) => id === quote.provider);
      if (provider === undefined) throw unbuildable('the quote is of another provider');
      try {
        return await provider.build(quote, wallet, signal);
      } catch (error) {
        // If `first` is switched off, the next quote comes from `second`.
        if (provider === first) sunset(error);
        throw error;
      }
    },
  };
}
