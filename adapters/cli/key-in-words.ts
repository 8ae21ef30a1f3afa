import { ConfigError } from 'exact-change';
import { createSecretSearch } from '../http/secrets.js';

const LEAKED =
  'A key is never an argument: it is now in the history of the shell, and other users of this machine may have seen it. Move its funds to another wallet. Give the key when it is asked for, by --from <file>, or on standard input.';

/** Refuses a key among the words of a command line, before a message repeats them. */
export function refuseKeyIn(words: readonly string[]): void {
  if (createSecretSearch()(words) === 'key') throw keyAsArgument();
}

/** What is said of a key in the wrong place. */
export function keyAsArgument(): ConfigError {
  return new ConfigError('invalid_key', LEAKED, {
    details: { reason: 'a key was given as an argument' },
  });
}
