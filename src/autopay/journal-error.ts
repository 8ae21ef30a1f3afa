import { TransportError } from '../errors.js';

/** What a journal that fails becomes: money moves only where it is on record before. */
export function unwritten(step: string, cause: unknown): TransportError {
  return new TransportError(
    'journal_unavailable',
    'The journal could not be read or written, so nothing more was signed or sent. Repair it, then try again.',
    { details: { step }, cause },
  );
}
