import { isExactChangeError } from '../../errors.js';

/** Turns an error of this library into undefined; throws any other. */
export function noneIfFailed(error: unknown): undefined {
  if (!isExactChangeError(error)) throw error;
}
