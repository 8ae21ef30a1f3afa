import { isExactChangeError } from '../../../src/errors.js';

/** Runs `work` and returns its result, or the code and details of its error. */
export function outcome(work: () => unknown): Record<string, unknown> {
  try {
    return { out: work() };
  } catch (error) {
    return refusal(error);
  }
}

/** Does the same for a promise. */
export async function outcomeOf(work: Promise<unknown>): Promise<Record<string, unknown>> {
  return work.then((out) => ({ out }), refusal);
}

function refusal(error: unknown): Record<string, unknown> {
  if (!isExactChangeError(error)) throw error;
  return { refused: error.code, details: error.details };
}
