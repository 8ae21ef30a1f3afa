import { isExactChangeError, TransportError } from '../../../src/errors.js';

/** What a database that fails becomes. Our own errors say enough already. */
export function failure(step: string, cause: unknown): unknown {
  if (isExactChangeError(cause)) return cause;
  return new TransportError(
    'journal_unavailable',
    `The Postgres journal could not do its step "${step}". See the cause, repair the database or the way to it, then try again.`,
    { details: { step }, cause },
  );
}

/** What a call on a closed journal gets. */
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
