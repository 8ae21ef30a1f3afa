import { isExactChangeError } from '../../../src/errors.js';

/** What work gives, or what it is refused for. */
export function outcome(work: () => unknown): Record<string, unknown> {
  try {
    return { out: work() };
  } catch (error) {
    return refusal(error);
  }
}

/** The same of work that is waited for. */
export async function outcomeOf(work: Promise<unknown>): Promise<Record<string, unknown>> {
  return work.then((out) => ({ out }), refusal);
}

function refusal(error: unknown): Record<string, unknown> {
  if (!isExactChangeError(error)) throw error;
  return { refused: error.code, details: error.details };
}
