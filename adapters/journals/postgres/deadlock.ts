import { isExactChangeError } from '../../../src/errors.js';

/**
 * Runs a statement, and once more if Postgres ended it to undo a deadlock: Postgres rolled all of
 * it back.
 */
export async function pastDeadlock<T>(statement: () => Promise<T>): Promise<T> {
  try {
    return await statement();
  } catch (error) {
    const cause = isExactChangeError(error, 'journal_unavailable') ? error.cause : undefined;
    if (cause instanceof Error && 'code' in cause && cause.code === '40P01') return statement();
    throw error;
  }
}
