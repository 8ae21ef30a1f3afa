import { isExactChangeError } from '../../errors.js';
import type { SwapProvider } from '../provider.js';

/**
 * Several providers as one: each is asked in turn, until one has a route. A rate limit or an outage
 * does not change the provider: the price of the next may be worse, and the caller tries again.
 */
export function firstRoute(providers: readonly SwapProvider[]): SwapProvider {
  return {
    id: providers.map(({ id }) => id).join(' '),
    get supportsExactOut() {
      return providers.some(({ supportsExactOut }) => supportsExactOut);
    },
    quote: (intent, signal) =>
      inOrder(
        providers,
        (one) => one.quote(intent, signal),
        (error) => isExactChangeError(error, 'no_route'),
      ),
    build: (quote, wallet, signal) =>
      inOrder(
        providers,
        (one) => one.build(quote, wallet, signal),
        (error) => isExactChangeError(error, 'quote_mismatch'),
      ),
  };
}

/** The first success; goes on to the next provider only after an error that `passes` on. */
export async function inOrder<T>(
  [provider, ...rest]: readonly SwapProvider[],
  ask: (provider: SwapProvider) => Promise<T>,
  passes: (error: unknown) => boolean,
): Promise<T> {
  if (provider === undefined) throw new TypeError('no provider left');
  try {
    return await ask(provider);
  } catch (error) {
    if (rest.length === 0 || !passes(error)) throw error;
    return inOrder(rest, ask, passes);
  }
}
