import { refuse } from '../src/internal/options.js';

/** Throws `ConfigError` (`invalid_option`) unless an option is a whole number within bounds. */
export function readWhole(option: string, value: unknown, least = 1, most = 2 ** 31 - 1): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most)
    throw refuse(option, `must be a whole number from ${least} to ${most}.`);
  return value;
}
