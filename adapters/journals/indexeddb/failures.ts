import {
  cleanText,
  ConfigError,
  isExactChangeError,
  TransportError,
  type ExactChangeError,
} from '../../../src/errors.js';

/** Returns the error that callers get if a journal cannot be used. */
export function unavailable(name: string, cause: unknown): ExactChangeError {
  if (isExactChangeError(cause)) return cause;
  // The name of a DOMException tells the cause, for example QuotaExceededError.
  const why = cause instanceof Error ? ` (${cause.name}: ${cleanText(cause.message)})` : '';
  return new TransportError(
    'journal_unavailable',
    `The journal "${name}" of this browser could not be read or written${why}, so nothing more was signed or sent. ` +
      'If its storage is full, make room in it, then try again.',
    { details: { step: 'indexeddb' }, cause },
  );
}

/** Returns the refusal of a page or runtime that lacks IndexedDB or Web Locks. */
export function missing(what: 'indexedDB' | 'navigator.locks'): TransportError {
  return new TransportError(
    'journal_unavailable',
    `indexedDbJournal needs ${what}, which is not there, so nothing is signed. Serve the page over https: or from localhost, to a browser of 2022 or later; on Node use exact-change/journal/file.`,
    { details: { step: what }, retry: 'never' },
  );
}

export function closedError(): TransportError<'journal_unavailable'> {
  return new TransportError(
    'journal_unavailable',
    'This journal was closed. Make another one with indexedDbJournal.',
    { details: { step: 'indexeddb' }, retry: 'never' },
  );
}

/** Returns the refusal to begin an empty journal after the browser removed the old journal. */
export function evicted(name: string): TransportError<'journal_damaged'> {
  return new TransportError(
    'journal_damaged',
    `The browser has removed the journal "${name}", so what was spent is not known and nothing more is. Lower the limits of the policy by what was spent, ` +
      `then remove "${witnessName(name)}" from localStorage, or use a journal of another name.`,
    { details: { path: name, offset: 0 } },
  );
}

export function damaged(name: string, row: number): TransportError<'journal_damaged'> {
  return new TransportError(
    'journal_damaged',
    `The journal "${name}" is damaged in row ${row}, so what was spent is not known and nothing more is. Lower the limits of the policy by what was spent, and use a journal of another name.`,
    { details: { path: name, offset: row } },
  );
}

export function newerVersion(name: string): ConfigError<'invalid_option'> {
  return new ConfigError(
    'invalid_option',
    `A newer version of exact-change has written the journal "${name}". Reload the page, so that it gets that version.`,
    { details: { option: 'journal' } },
  );
}

/** Returns the localStorage key that keeps the random name of a journal's database. */
export function witnessName(name: string): string {
  return `exact-change journal ${name}`;
}
