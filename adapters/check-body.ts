import { refuse } from '../src/internal/options.js';
import { isRecord } from '../src/internal/record.js';

/**
 * Throws `ConfigError` (`invalid_option`) for a stream that cannot be iterated over, such as a form
 * of the package `form-data`. fetch sends the text `[object FormData]` in its place, and the seller
 * would be paid for that.
 */
export function checkBody(option: string, body: unknown): void {
  if (isRecord(body) && 'pipe' in body && !(Symbol.asyncIterator in body))
    throw refuse(
      option,
      'must be a FormData of the runtime, or a stream that can be iterated over.',
    );
}
