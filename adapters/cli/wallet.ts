import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, type MessageSigner } from 'exact-change';
import { loadOnce } from '../../src/internal/load-once.js';
import { isRecord } from '../../src/internal/record.js';
import { createKeySigner } from '../../src/solana/keys.js';
import { parseJson } from '../../src/internal/parse.js';
import { readKeyFile as readFile } from '../node/key-file.js';
import type { WalletPlace } from './layer.js';
import { modeAdvice, configFolder, expandHome } from './paths.js';
import { readPassphrase, type PassphraseSource } from './passphrase.js';
import type { Terminal } from './terminal.js';
import { decryptWallet, readEncrypted, type EncryptedWallet } from './wallet-file.js';

/** The wallet of a command. */
export interface Wallet {
  /** Place of the key, as text for people: a path or a variable. */
  readonly source: string;
  readonly isEncrypted: boolean;
  /** Asks for the passphrase when it signs before the wallet is unlocked. */
  readonly signer: MessageSigner;
  /** Asks for the passphrase if the wallet is encrypted. */
  unlock(): Promise<void>;
}

/** Returns the signer of a client that only reads. Without `address` it is of no wallet. */
export const readOnlySigner = (
  address = '1nc1nerator11111111111111111111111111111111',
): MessageSigner => ({
  address,
  signMessage: () => Promise.reject(new Error('This client signs nothing.')),
});

/** Returns the default path of the wallet, which `wallet new` writes. */
export const defaultWalletFile = (env: Readonly<Record<string, string | undefined>>): string =>
  join(configFolder(env), 'wallet.json');

/** The default key file of Solana's command line tools. */
const SOLANA_FILE = '~/.config/solana/id.json';

/**
 * Opens the wallet of the settings, or else the wallet at the default path. A key is never an
 * argument, because other users of the machine see arguments. Throws `ConfigError`
 * (`invalid_key`).
 */
export function openWallet(place: WalletPlace | undefined, source: PassphraseSource): Wallet {
  if (place !== undefined && 'secretKey' in place)
    return plainWallet('WALLET_SECRET_KEY', createKeySigner(place.secretKey));
  const path = expandHome(place?.file ?? defaultWalletFile(source.terminal.env));
  if (place === undefined && !existsSync(path)) throw noWallet(path);
  const text = readKeyFile(path, source.terminal);
  const encrypted = readEncrypted(parseJson(text));
  return encrypted === undefined
    ? plainWallet(path, keyOf(text, path))
    : encryptedWallet(path, encrypted, source);
}

function plainWallet(source: string, signer: MessageSigner): Wallet {
  return { source, isEncrypted: false, signer, unlock: async () => undefined };
}

function encryptedWallet(
  source: string,
  file: EncryptedWallet,
  passphrases: PassphraseSource,
): Wallet {
  // After a wrong passphrase, the next call asks again.
  const unlock = loadOnce(async () => {
    const passphrase = await readPassphrase(passphrases, file.address);
    return createKeySigner(await decryptWallet(file, passphrase));
  });
  return {
    ...{ source, isEncrypted: true },
    signer: {
      address: file.address,
      signMessage: async (message, intent) => (await unlock()).signMessage(message, intent),
    },
    unlock: async () => void (await unlock()),
  };
}

/**
 * Reads a key file or an encrypted wallet, and warns if other users may read it. Errors do not
 * quote its content.
 */
export function readKeyFile(path: string, terminal: Terminal): string {
  const text = readFile(path);
  const advice = modeAdvice(path);
  if (advice !== undefined) terminal.say(`Other users may read ${path}. ${advice}`);
  return text;
}

function keyOf(text: string, path: string): MessageSigner {
  if (!isRecord(parseJson(text))) return createKeySigner(text);
  const reason = `the file at ${path} is neither a wallet of this version nor a key file`;
  throw new ConfigError('invalid_key', `The key cannot be used: ${reason}. Give another file.`, {
    details: { reason },
  });
}

function noWallet(path: string): ConfigError {
  const hint = existsSync(expandHome(SOLANA_FILE))
    ? `, or --wallet ${SOLANA_FILE} for the one of Solana's tools`
    : '';
  return new ConfigError(
    'invalid_key',
    `There is no wallet at ${path}. Make one: exact-change wallet new. Or give --wallet <file>, or WALLET_SECRET_KEY in the environment${hint}.`,
    { details: { reason: 'there is no wallet' } },
  );
}
