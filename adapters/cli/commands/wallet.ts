import { randomBytes } from 'node:crypto';
import { ConfigError } from 'exact-change';
import { base58 } from '../../../src/internal/bytes.js';
import { createKeySigner, createSeedSigner } from '../../../src/solana/keys.js';
import { hasCode } from '../../../src/internal/error-code.js';
import { readInput } from '../input.js';
import { Interrupted } from '../interrupt.js';
import { expandHome } from '../paths.js';
import { keyAsArgument } from '../key-in-words.js';
import { newPassphrase } from '../passphrase.js';
import type { Command, Invocation, Report } from '../report.js';
import { readSettings } from '../settings.js';
import { askSecret } from '../terminal.js';
import { encryptWallet, writeNewFile } from '../wallet-file.js';
import { defaultWalletFile, openWallet, readKeyFile } from '../wallet.js';

export interface NewWalletFlags {
  readonly out?: string;
}

export interface ImportFlags extends NewWalletFlags {
  readonly from?: string;
}

/** Makes a key and writes it to an encrypted wallet. */
export const newWallet: Command<NewWalletFlags> = (invocation) => {
  const seed = randomBytes(32);
  return keep(invocation, keypairOf(seed));
};

/** Writes an existing key to an encrypted wallet. The key comes from a question, file or stdin. */
export const importWallet: Command<ImportFlags> = async (invocation) => {
  const { terminal, flags, args } = invocation;
  if (args.length > 0) throw keyAsArgument();
  return keep(invocation, bytesOf(await givenKey(flags, terminal)));
};

/** Shows the wallet that commands use, without its key. */
export const showWallet: Command<object> = async ({ terminal, flags }) => {
  const settings = readSettings(flags, terminal.env);
  const { signer, source, isEncrypted } = openWallet(settings.wallet, {
    terminal,
    fd: flags.passphraseFd,
  });
  const { address } = signer;
  return {
    json: { address, source, isEncrypted },
    text: `${address}\n${source}${isEncrypted ? '' : ' (not encrypted)'}`,
  };
};

async function givenKey(
  { from }: ImportFlags,
  terminal: Invocation<object>['terminal'],
): Promise<string> {
  if (from !== undefined) return readKeyFile(expandHome(from), terminal);
  if (!terminal.canAsk) return (await readInput(terminal, '-')).toString();
  const key = await askSecret(terminal, 'Secret key (base58, or the text of a JSON array)');
  if (key === undefined) throw new Interrupted();
  return key;
}

async function keep(
  { terminal, flags }: Invocation<NewWalletFlags>,
  secret: Uint8Array,
): Promise<Report> {
  const path = expandHome(flags.out ?? defaultWalletFile(terminal.env));
  const { address } = createKeySigner(secret);
  const passphrase = await newPassphrase({ terminal, fd: flags.passphraseFd });
  const file = await encryptWallet(secret, address, passphrase);
  secret.fill(0);
  await writeNewFile(path, `${JSON.stringify(file, null, 2)}\n`).catch((error: unknown) => {
    throw hasCode(error, 'EEXIST') ? isThere(path) : error;
  });
  return {
    json: { address, source: path },
    text: address,
    notes: [
      `The wallet is in ${path}. Keep a copy of that file and its passphrase: without both, what it holds is lost.`,
      'Send it the token that sellers ask for, or any other and a little SOL for swaps.',
    ],
  };
}

function isThere(path: string): ConfigError {
  return new ConfigError(
    'invalid_option',
    `There is a wallet at ${path} already, and it is not overwritten. Give --out <file> for another.`,
    { details: { option: 'out' } },
  );
}

/** Returns the 64 bytes of a key pair: the seed, then the public key. */
function keypairOf(seed: Uint8Array): Uint8Array {
  const { address } = createSeedSigner(seed);
  return Uint8Array.of(...seed, ...base58.decode(address));
}

/** Parses the text of a key file into 64 bytes. Throws `ConfigError` (`invalid_key`). */
function bytesOf(text: string): Uint8Array {
  const trimmed = text.trim();
  createKeySigner(trimmed);
  return trimmed.startsWith('[')
    ? Uint8Array.from(JSON.parse(trimmed) as number[]) // `createKeySigner` has checked the text.
    : base58.decode(trimmed);
}
