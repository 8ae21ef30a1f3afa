import { ConfigError, type Funds } from '../errors.js';
import { untilAborted } from './abort.js';

/**
 * Returns a function that loads once for all its callers. After a failed load, as in a page that
 * was offline, or from a node that was down, the next call loads again. A caller stops waiting when
 * its signal fires, because a file may never arrive.
 */
export function loadOnce<T>(load: () => Promise<T>): (signal?: AbortSignal) => Promise<T> {
  let loading: Promise<T> | undefined;
  return (signal) => {
    const loaded = (loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    }));
    return untilAborted(loaded, signal);
  };
}

/**
 * Loads code of this library once, when it is first needed, because each `import()` takes the
 * runtime's loader time. Rejects with `ConfigError` (`missing_dependency`), because each runtime
 * has an error of its own for a failed import.
 *
 * Mark the call as pure, or a bundler keeps all code that a module loads by it.
 *
 * @returns A function that loads the code, as {@link loadOnce} does; `funds` is the state of the
 *   caller's money before.
 */
export function lazyPart<T>(
  load: () => Promise<T>,
): (signal?: AbortSignal, funds?: Funds) => Promise<T> {
  const code = loadOnce(load);
  return (signal, funds = 'untouched') =>
    untilAborted(
      code().catch((cause: unknown) => {
        throw missing(funds, cause);
      }),
      signal,
    );
}

function missing(funds: Funds, cause: unknown): ConfigError {
  const isOpen = funds === 'uncertain';
  return new ConfigError(
    'missing_dependency',
    'A part of exact-change could not be loaded: the page may be offline, or a file is gone. ' +
      (isOpen
        ? 'An earlier payment of this wallet may still settle. Repeat the same call, to find that payment.'
        : 'Nothing was sent by this step. Try again, or restore that file.'),
    { details: { packages: ['exact-change'] }, funds, retry: isOpen ? 'same' : 'fresh', cause },
  );
}
