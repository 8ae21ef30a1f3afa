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
 * Code of this library that is loaded once, when it is first needed: an `import()` takes the loader
 * of a runtime its time at each call. Rejects with `ConfigError` (`missing_dependency`), for each
 * runtime has an error of its own for that.
 *
 * A bundler keeps all that a module loads by it, unless the call is said to be pure.
 *
 * @returns What loads it; `funds` is what may have happened to the caller's money before.
 */
export function part<T>(load: () => Promise<T>): (funds?: Funds) => Promise<T> {
  const code = loadOnce(load);
  return async (funds = 'untouched') => {
    try {
      return await code();
    } catch (cause) {
      throw missing(funds, cause);
    }
  };
}

function missing(funds: Funds, cause: unknown): ConfigError {
  const isOpen = funds === 'uncertain';
  return new ConfigError(
    'missing_dependency',
    'A part of exact-change could not be loaded: the page may be offline, or its deployment is not whole. ' +
      (isOpen
        ? 'An earlier payment of this wallet may still settle. Repeat the same call: it never pays twice.'
        : 'Nothing was sent by this step. Try again, or restore the files of the package.'),
    { details: { packages: ['exact-change'] }, funds, retry: isOpen ? 'same' : 'fresh', cause },
  );
}
