import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { ConfigError } from '../../src/errors.js';
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
  return createKeySigner(readKeyFile(path.replace(/^~(?=[/\\]|$)/, () => homedir())));
}

/** Reads the text of a key file. Throws `ConfigError` (`invalid_key`). */
export function readKeyFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    // A key in place of its path must not be repeated, and the cause repeats it too.
    const isSeed = keysIn(path).includes(path.replace(/^\s*\[\s*|\s*\]\s*$/g, ''));
    const isKey = isSeed || createSecretSearch()(path) === 'key';
    const reason = isKey ? 'a key is where the path is due' : `the file at ${path} cannot be read`;
    const next = isKey ? 'Give the path of its file' : 'Correct the path, or make the file';
    throw new ConfigError('invalid_key', `The secret key cannot be used: ${reason}. ${next}.`, {
      details: { reason },
      ...(isKey ? {} : { cause }),
    });
  }
}
