import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { ConfigError } from '../../src/errors.js';
import { parseJson } from '../../src/internal/parse.js';
import { isRecord } from '../../src/internal/record.js';
import { createKeySigner } from '../../src/solana/keys.js';
import type { MessageSigner } from '../../src/solana/signer.js';
import { createSecretSearch } from '../http/secrets.js';
import { keysIn } from './key-shapes.js';

/**
 * Returns a signer for a key file of Solana's command line tools, such as
 * `~/.config/solana/id.json`. `~` is the home folder.
 *
 * Throws `ConfigError` (`invalid_key`) if the file cannot be read, or has no key. The error does
 * not quote the file.
 *
 * @example
 * const client = createClient({ signer: fromFile('~/.config/solana/id.json') });
 */
export function fromFile(path: string): MessageSigner {
  // A JavaScript caller may pass a variable that is not set.
  const given: unknown = path;
  if (typeof given !== 'string')
    throw unusable('no path of a key file was given', 'Give the path of that file');
  const text = readKeyFile(path.replace(/^~(?=[/\\]|$)/, () => homedir()));
  const content = parseJson(text);
  // A wallet of `exact-change wallet new`, of any version.
  if (isRecord(content) && 'scrypt' in content && 'ciphertext' in content)
    throw unusable(
      'it is an encrypted wallet of the command exact-change, which only that command reads',
      'Give a key file instead, as `solana-keygen new` writes it: see docs/getting-started.md',
    );
  return createKeySigner(text);
}

/** Reads the text of a key file. Throws `ConfigError` (`invalid_key`). */
export function readKeyFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    // A key in place of its path must not be repeated, and the cause repeats it too.
    const isSeed = keysIn(path).includes(path.replace(/^\s*\[\s*|\s*\]\s*$/g, ''));
    const isKey = isSeed || createSecretSearch()(path) === 'key';
    throw isKey
      ? unusable(
          'a key was given, and the path of a key file is needed',
          'Write the key to a file, and give the path of that file',
        )
      : unusable(`the file at ${path} cannot be read`, 'Correct the path, or make the file', cause);
  }
}

function unusable(reason: string, next: string, cause?: unknown): ConfigError {
  return new ConfigError('invalid_key', `The secret key cannot be used: ${reason}. ${next}.`, {
    details: { reason },
    ...(cause === undefined ? {} : { cause }),
  });
}
