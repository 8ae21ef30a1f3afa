import {
  createCipheriv,
  createDecipheriv,
  randomBytes,
  scrypt,
  type ScryptOptions,
} from 'node:crypto';
import { link, open, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { platform } from 'node:process';
import { promisify } from 'node:util';
import { ConfigError } from 'exact-change';
import { isRecord } from '../../src/internal/record.js';
import { isAddress } from '../../src/solana/address.js';
import { makeFolderOf } from './paths.js';

const VERSION = 1;
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
/** Without this option Node accepts a tag of 4 bytes, which can be guessed. */
const TAG = { authTagLength: 16 } as const;
const SECRET_BYTES = 64;

/** Cost of scrypt: about 0.4 s and 128 MiB for each tried passphrase. */
const COST = 2 ** 17;
/** Costs that a file may have: lower is too cheap to guess, higher takes all memory. */
const [LEAST_COST, MOST_COST] = [2 ** 14, 2 ** 20];
const BLOCK_SIZE = 8;

/** A wallet's key, encrypted by a passphrase. Bytes are in base64. */
export interface EncryptedWallet {
  readonly version: typeof VERSION;
  /** Base58. The tag covers the address, so a file with a changed address does not open. */
  readonly address: string;
  readonly scrypt: { readonly cost: number; readonly salt: string };
  readonly iv: string;
  readonly ciphertext: string;
  readonly tag: string;
}

/**
 * Encrypts the 64 bytes of a key.
 *
 * @param cost - Cost of scrypt, a power of 2. Tests use a lower cost.
 */
export async function encryptWallet(
  secret: Uint8Array,
  address: string,
  passphrase: string,
  cost = COST,
): Promise<EncryptedWallet> {
  const [salt, iv] = [randomBytes(16), randomBytes(IV_BYTES)];
  const key = await deriveKey(passphrase, salt, cost);
  const cipher = createCipheriv(CIPHER, key, iv, TAG).setAAD(Buffer.from(address));
  const ciphertext = Buffer.concat([cipher.update(secret), cipher.final()]);
  return {
    version: VERSION,
    address,
    scrypt: { cost, salt: salt.toString('base64') },
    iv: iv.toString('base64'),
    ciphertext: ciphertext.toString('base64'),
    tag: cipher.getAuthTag().toString('base64'),
  };
}

/**
 * Returns the 64 bytes of the key. Throws `ConfigError` (`invalid_key`) if the passphrase is wrong,
 * or the file was changed.
 */
export async function decryptWallet(
  { address, scrypt: { cost, salt }, iv, ciphertext, tag }: EncryptedWallet,
  passphrase: string,
): Promise<Uint8Array> {
  const key = await deriveKey(passphrase, Buffer.from(salt, 'base64'), cost);
  const decipher = createDecipheriv(CIPHER, key, Buffer.from(iv, 'base64'), TAG);
  try {
    decipher.setAAD(Buffer.from(address)).setAuthTag(Buffer.from(tag, 'base64'));
    return Buffer.concat([decipher.update(Buffer.from(ciphertext, 'base64')), decipher.final()]);
  } catch {
    throw new ConfigError(
      'invalid_key',
      `The wallet ${address} cannot be unlocked: the passphrase is another one, or the file was changed. Try again.`,
      { details: { reason: 'the passphrase does not open the wallet' } },
    );
  }
}

/** Reads an encrypted wallet from parsed JSON; undefined if the value is no such wallet. */
export function readEncrypted(value: unknown): EncryptedWallet | undefined {
  if (!isRecord(value) || value['version'] !== VERSION || !isRecord(value['scrypt']))
    return undefined;
  const { address, scrypt: kdf, iv, ciphertext, tag } = value;
  const { cost, salt } = kdf;
  if (!isAddress(address) || !isCost(cost) || !isBytes(salt, 16)) return undefined;
  if (!isBytes(iv, IV_BYTES) || !isBytes(tag, TAG.authTagLength)) return undefined;
  if (!isBytes(ciphertext, SECRET_BYTES)) return undefined;
  return { version: VERSION, address, scrypt: { cost, salt }, iv, ciphertext, tag };
}

/**
 * Writes a new file that only its owner may read, whole or not at all. Resolves once its name is on
 * the disk too: a wallet may get funds from then on, and a power failure must not lose it. Rejects
 * with `EEXIST` if the path is taken: a wallet is never overwritten.
 */
export async function writeNewFile(
  path: string,
  text: string,
  sync: (folder: string) => Promise<void> = syncFolder,
): Promise<void> {
  await makeFolderOf(path);
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
    // A link, not a rename: a rename would replace an existing file.
    await link(temporary, path);
  } finally {
    await file.close();
    await unlink(temporary);
  }
  await sync(dirname(path));
}

/** Resolves once the names in a folder are on the disk. Windows saves them by itself. */
async function syncFolder(path: string): Promise<void> {
  if (platform === 'win32') return;
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

const derive: (
  text: string,
  salt: Uint8Array,
  bytes: number,
  options: ScryptOptions,
) => Promise<Buffer> = promisify(scrypt);

function deriveKey(passphrase: string, salt: Uint8Array, cost: number): Promise<Buffer> {
  // Keyboards may compose the same letters in different ways.
  const text = passphrase.normalize('NFKC');
  // Node's default memory limit refuses a cost above 2^14.
  const options: ScryptOptions = { N: cost, r: BLOCK_SIZE, p: 1, maxmem: 256 * BLOCK_SIZE * cost };
  return derive(text, salt, KEY_BYTES, options);
}

function isCost(value: unknown): value is number {
  if (typeof value !== 'number' || !Number.isInteger(value)) return false;
  return value >= LEAST_COST && value <= MOST_COST && (value & (value - 1)) === 0;
}

function isBytes(value: unknown, length: number): value is string {
  if (typeof value !== 'string') return false;
  const bytes = Buffer.from(value, 'base64');
  return bytes.length === length && bytes.toString('base64') === value;
}
