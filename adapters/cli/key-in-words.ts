import { ConfigError } from 'exact-change';
import { createSecretSearch } from '../http/secrets.js';
import { keysIn, NUMBERS, TOKENS } from '../node/key-shapes.js';

const LEAKED =
  'A key is never an argument: it is now in the history of the shell, and other users of this machine may have seen it. Move its funds to another wallet. Give the key when it is asked for, by --from <file>, or on standard input.';

/** Characters of a word that are shown, so that the person finds the word. */
const SHOWN = 4;

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

/**
 * Returns the text of an error without what could be a key in the words of the command line. A seed
 * looks like an address, so a word of that size is cut too.
 */
export function hideKeys(text: string, words: readonly string[] = process.argv.slice(2)): string {
  const keys = words.flatMap(keysIn).map((key) => key.toLowerCase());
  if (keys.length === 0) return text;
  // The text may have a part of the word, in another case: a letter less before it, a cut end.
  const isOf = (token: string) => keys.some((key) => key.includes(token) || token.includes(key));
  return text
    .replace(NUMBERS, '[hidden]')
    .replace(TOKENS, (token) =>
      isOf(token.toLowerCase()) ? `${token.slice(0, SHOWN)}[hidden]` : token,
    );
}
