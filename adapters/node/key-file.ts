import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { ConfigError } from '../../src/errors.js';
import { createKeySigner } from '../../src/solana/keys.js';
import type { MessageSigner } from '../../src/solana/signer.js';

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

function readKeyFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const reason = `the file at ${path} cannot be read`;
    throw new ConfigError(
      'invalid_key',
      `The secret key cannot be used: ${reason}. Make one with solana-keygen, or correct the path.`,
      { details: { reason }, cause },
    );
  }
}
