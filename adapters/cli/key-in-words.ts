import { ConfigError } from 'exact-change';
import { createSecretSearch } from '../http/secrets.js';

const LEAKED =
  'A key is never an argument: it is now in the history of the shell, and other users of this machine may have seen it. Move its funds to another wallet. Give the key when it is asked for, by --from <file>, or on standard input.';

/** Throws if a word of the command line is a key, before an error message repeats the word. */
export function refuseKeyIn(words: readonly string[]): void {
  if (createSecretSearch()(words) === 'key') throw keyAsArgument();
}

/** Returns the error for a key that was given as an argument. */
export function keyAsArgument(): ConfigError {
  return new ConfigError('invalid_key', LEAKED, {
    details: { reason: 'a key was given as an argument' },
  });
}
