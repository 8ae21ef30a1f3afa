import { isObject } from './record.js';

/** Whether an error has one of the given codes of Node, such as `ENOENT`. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return isObject(error) && 'code' in error && codes.some((code) => code === error.code);
}
