import { isExactChangeError, TransportError, type ConfigError } from '../../../src/errors.js';
import { hasCode } from '../../../src/internal/error-code.js';
import { refuse } from '../../../src/internal/options.js';

/** Wraps an error of the database. Returns errors of this package as they are. */
export function failure(step: string, cause: unknown): unknown {
  if (isExactChangeError(cause)) return cause;
  return new TransportError(
    'journal_unavailable',
    `The Postgres journal could not do its step "${step}". See the cause, repair the database or the way to it, then try again.`,
    { details: { step }, cause },
  );
}

export function closed(step: string): TransportError {
  return new TransportError(
    'journal_unavailable',
    'The Postgres journal is closed. Make another one.',
    {
      details: { step },
      retry: 'never',
    },
  );
}

/** Returns the error for a proxy that gives one server process to several clients in turn. */
export function pooled(option: string): ConfigError {
  return refuse(
    option,
    'must keep its sessions, but leads to a pooler in transaction or statement mode, which would give the lock of one process to others. Connect to the database directly or in session mode: often port 5432 in place of 6543, or a host name without "-pooler".',
  );
}

/** Returns the SQLSTATE of an error that {@link failure} wrapped; undefined for any other error. */
export function sqlStateOf(error: unknown): string | undefined {
  const cause = isExactChangeError(error, 'journal_unavailable') ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
}

/**
 * Does work again as long as Postgres ends it to undo a deadlock: Postgres rolled all of it back.
 * The other session may wait for the locks still, and meet this one again.
 *
 * @param work - Fails otherwise once it is too late.
 */
export async function pastDeadlock<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!hasCode(error, '40P01')) throw error;
    }
  }
}
