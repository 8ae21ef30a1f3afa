import { ConfigError, type Funds } from '../errors.js';

/**
 * Loads once for all that need it. What could not be loaded, as in a page that was offline, is
 * loaded anew by the next.
 */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () =>
    (loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    }));
}

/**
 * Code of this library that is being loaded. Rejects with `ConfigError` (`missing_dependency`),
 * for each runtime has an error of its own for that.
 *
 * @param funds - What may have happened to the caller's money before it.
 */
export function loadPart<T>(code: Promise<T>, funds: Funds = 'untouched'): Promise<T> {
  return code.catch((cause: unknown) => {
    const isOpen = funds === 'uncertain';
    throw new ConfigError(
      'missing_dependency',
      'A part of exact-change could not be loaded: the page may be offline, or its deployment is not whole. ' +
        (isOpen
          ? 'An earlier payment of this wallet may still settle. Repeat the same call: it never pays twice.'
          : 'Nothing was sent by this step. Try again, or restore the files of the package.'),
      { details: { packages: ['exact-change'] }, funds, retry: isOpen ? 'same' : 'fresh', cause },
    );
  });
}
