import { refuse } from '../src/internal/options.js';

/**
 * Throws `ConfigError` (`invalid_option`) unless a value has a method of a client. Other functions
 * make a client of options, so a JavaScript caller may give options here too.
 */
export function checkClient<M extends string>(
  client: { readonly [name in M]?: unknown } | undefined,
  method: M,
): void {
  if (typeof client?.[method] !== 'function')
    throw refuse('client', 'must be a client, such as createClient() gives.');
}
