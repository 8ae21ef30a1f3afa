import { isExactChangeError, TransportError } from '../../../src/errors.js';

/** Wraps an error of the database. Returns errors of this package as they are. */
export function failure(step: string, cause: unknown): unknown {
  if (isExactChangeError(cause)) return cause;
  return new TransportError(
    'journal_unavailable',
    `The Postgres journal could not do its step "${step}". See the cause, repair the database or the way to it, then try again.`,
    { details: { step }, cause },
  );
}

/** Returns the error for a call on a closed journal. */
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
