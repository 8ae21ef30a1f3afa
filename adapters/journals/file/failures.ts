import {
  cleanText,
  isExactChangeError,
  TransportError,
  type ExactChangeError,
} from '../../../src/errors.js';
import type { ProcessId } from '../log/process-id.js';
import { Damage } from './scan.js';

/** Returns the error that callers get if a journal cannot be used. */
export function unavailable(path: string, cause: unknown): ExactChangeError {
  if (isExactChangeError(cause)) return cause;
  if (cause instanceof Damage) return damaged(cause.path ?? path, cause.offset);
  const why = cause instanceof Error ? ` (${cleanText(cause.message)})` : '';
  return new TransportError(
    'journal_unavailable',
    `The journal at ${path} could not be read or written${why}, so nothing more was signed or sent. Its folder must exist, and this process must be able to write there.`,
    {
      details: { step: 'file' },
      cause,
    },
  );
}

/** Returns the error for a decision that threw: the thrown value, unless it is damage. */
export function reasonFor(path: string, reason: unknown): unknown {
  return reason instanceof Damage ? unavailable(path, reason) : reason;
}

function damaged(path: string, offset: number): TransportError<'journal_damaged'> {
  return new TransportError(
    'journal_damaged',
    `The journal at ${path} is damaged at byte ${offset}, so what was spent is not known and nothing more is. Put a sound copy in its place, ` +
      'or move the journal away with its .history, and lower the limits of the policy by what ' +
      'was spent.',
    { details: { path, offset } },
  );
}

export function closedError(): TransportError<'journal_unavailable'> {
  return new TransportError(
    'journal_unavailable',
    'This journal was closed. Make another one with fileJournal.',
    { details: { step: 'file' }, retry: 'never' },
  );
}

/** Returns the refusal of a file that an invisible process (of another machine) may use. */
export function lockedBy(
  path: string,
  { pid, sign }: Pick<ProcessId, 'pid' | 'sign'>,
): TransportError<'journal_locked'> {
  return new TransportError(
    'journal_locked',
    `Process ${pid} of another machine or container may have the journal at ${path}, and cannot be seen from here: a file is for processes of one machine, ` +
      `use exact-change/journal/postgres for more. If it is gone for certain, remove ${sign} beside the journal.`,
    { details: { path, pid } },
  );
}
