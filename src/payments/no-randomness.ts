import { ConfigError } from '../errors.js';

/** Returns the refusal of a runtime without random numbers, such as React Native's own. */
export function noRandomness(cause: unknown): ConfigError<'missing_dependency'> {
  return new ConfigError(
    'missing_dependency',
    'This runtime has no crypto.getRandomValues, so nothing is signed. Import react-native-get-random-values, or another package that adds it, before exact-change.',
    { details: { packages: ['react-native-get-random-values'] }, cause },
  );
}
