import {
  cleanText,
  isExactChangeError,
  TransportError,
  type ExactChangeError,
} from '../../../src/errors.js';

export function damaged(path: string, offset: number): TransportError<'journal_damaged'> {
  return new TransportError(
    'journal_damaged',
    `The journal at ${path} is damaged at byte ${offset}, so what was spent is not known and nothing more is. Put a sound copy in its place, ` +
      'or move it away and lower the limits of the policy by what was spent.',
    { details: { path, offset } },
  );
}

/** What keeps a journal from being used, as it is told to callers. */
export function unavailable(path: string, cause: unknown): ExactChangeError {
  if (isExactChangeError(cause)) return cause;
  const why = cause instanceof Error ? ` (${cleanText(cause.message)})` : '';
  return new TransportError(
    'journal_unavailable',
    `The journal at ${path} could not be read or written${why}, so nothing more was signed or sent.`,
    {
      details: { step: 'file' },
      cause,
    },
  );
}
