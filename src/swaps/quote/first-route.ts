import { isExactChangeError } from '../../errors.js';
import type { SwapProvider } from '../provider.js';

/**
 * Joins several providers into one: asks each provider in turn, until a provider has a route. A
 * rate limit or an outage does not change the provider: the next provider's price may be worse, and
 * the caller can try again.
 */
export function firstRoute(providers: readonly SwapProvider[]): SwapProvider {
  return {
    id: providers.map(({ id }) => id).join(' '),
    quote: (intent, signal) =>
      inOrder(
        providers,
        (provider) => provider.quote(intent, signal),
        (error) => isExactChangeError(error, 'no_route'),
      ),
    build: (quote, wallet, signal) =>
      inOrder(
        providers,
        (provider) => provider.build(quote, wallet, signal),
        (error) => isExactChangeError(error, 'quote_mismatch'),
      ),
  };
}

/** Returns the first success; asks the next provider only after an error that `passes` accepts. */
export async function inOrder<T>(
  [provider, ...nextProviders]: readonly SwapProvider[],
  ask: (provider: SwapProvider) => Promise<T>,
  passes: (error: unknown) => boolean,
): Promise<T> {
  if (provider === undefined) throw new TypeError('no provider left');
  try {
    return await ask(provider);
  } catch (error) {
    if (nextProviders.length === 0 || !passes(error)) throw error;
    return inOrder(nextProviders, ask, passes);
  }
}
