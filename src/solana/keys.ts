import { ConfigError } from '../errors.js';
import { base58 } from '../internal/bytes.js';
import { lazyPart } from '../internal/load-once.js';
import { addressBytes, addressOf, isAddress } from './address.js';
import { isStrictKey, publicKeyOf } from './curve.js';
import type { MessageSigner, Signer, TransactionSigner } from './signer.js';
import type { Address } from './types.js';
import { ED25519, quietSubtle } from './web-crypto.js';

const ed25519 = /* @__PURE__ */ lazyPart(() => import('./ed25519.js'));

const SEED_BYTES = 32;
const KEYPAIR_BYTES = 64;
const SIGNATURE_BYTES = 64;
/** The most characters of a key: 64 numbers of three digits, with spaces and line breaks. */
const MAX_TEXT = 1024;
const BASE58_KEY = /^[1-9A-HJ-NP-Za-km-z]{32,88}$/;
/** RFC 8410: the bytes before the seed in a PKCS #8 private key. */
const PKCS8_PREFIX = [
  0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

type Sign = (message: Uint8Array) => Promise<Uint8Array>;

/**
 * Creates a signer for a secret key: base58 text or bytes of the 64-byte keypair, or the JSON array
 * of a key file. The second half must be the public key of the first half. A key of 32 bytes is
 * refused, because it may be an address: a seed that is an address is public.
 *
 * No property holds the key. It is in the runtime as a non-extractable key if the runtime has
 * Ed25519, and in a closure otherwise.
 *
 * @throws ConfigError `invalid_key`, which quotes no part of the secret.
 */
export function createKeySigner(secret: string | Uint8Array | readonly number[]): MessageSigner {
  const { seed, address } = readKeypair(secret);
  return signerOf(seed, address);
}

/**
 * Creates a signer as {@link createKeySigner} does, for the 32-byte seed of a keypair.
 *
 * @throws ConfigError `invalid_key`, which quotes no part of the seed.
 */
export function createSeedSigner(seed: Uint8Array): MessageSigner {
  if (!isUint8Array(seed) || seed.length !== SEED_BYTES)
    throw invalidKey(
      'walletSeed is not a Uint8Array of 32 bytes',
      'Give those bytes, or the whole key as walletSecretKey.',
    );
  return signerOf(Uint8Array.from(seed), addressOf(publicKeyOf(seed)));
}

/** Creates a signer that owns the seed: the caller must not use it any more. */
function signerOf(seed: Uint8Array, address: Address): MessageSigner {
  const signKept = keep(seed);
  // The message is copied, because the caller may reuse its buffer before the runtime signs.
  const signer = Object.freeze({
    address,
    signMessage: (message: Uint8Array) => signKept(Uint8Array.from(message)),
  });
  keySigners.add(signer);
  return signer;
}

/** Signers that this module made: they sign exactly the bytes that they get. */
const keySigners = new WeakSet<Signer>();

/** Returns a signer for the same wallet that makes each call through `around`. */
export function wrapSigner(
  signer: Signer,
  around: (ask: () => Promise<Uint8Array>) => Promise<Uint8Array>,
): Signer {
  const { address } = signer;
  const wrapped: Signer = isTransactionSigner(signer)
    ? { address, signTransaction: (...args) => around(async () => signer.signTransaction(...args)) }
    : { address, signMessage: (...args) => around(async () => signer.signMessage(...args)) };
  if (keySigners.has(signer)) keySigners.add(wrapped);
  return wrapped;
}

export function isTransactionSigner(signer: Signer): signer is TransactionSigner {
  return hasMethod(signer, 'signTransaction');
}

/** Whether a signer has a method: a caller in JavaScript may give any object. */
export function hasMethod<S extends object, N extends string>(
  signer: S,
  method: N,
): signer is Extract<S, Readonly<Record<N, unknown>>> {
  return typeof Reflect.get(signer, method) === 'function';
}

/** Takes over the seed: imports it into the runtime and zeroes it, or keeps it in a closure. */
function keep(seed: Uint8Array): Sign {
  const imported = importKey(seed).then(
    (sign) => {
      seed.fill(0);
      return sign;
    },
    (): Sign => async (message) => (await ed25519()).sign(message, seed),
  );
  return async (message) => (await imported)(message);
}

/** Imports the seed into the runtime. Rejects if the runtime has no Ed25519. */
async function importKey(seed: Uint8Array): Promise<Sign> {
  const subtle = quietSubtle();
  if (subtle === undefined) throw new Error('No Ed25519 in this runtime.');
  const pkcs8 = Uint8Array.of(...PKCS8_PREFIX, ...seed);
  try {
    const key = await subtle.importKey('pkcs8', pkcs8, ED25519, false, ['sign']);
    return async (message) =>
      new Uint8Array(await subtle.sign(ED25519, key, Uint8Array.from(message)));
  } finally {
    pkcs8.fill(0);
  }
}

function readKeypair(secret: unknown): { readonly seed: Uint8Array; readonly address: Address } {
  const bytes = typeof secret === 'string' ? readText(secret.trim()) : readBytes(secret);
  if (bytes === undefined)
    throw invalidKey('it is neither base58 text, nor a JSON array of bytes, nor bytes');
  try {
    if (bytes.length === SEED_BYTES) {
      const next = 'Give all 64 bytes of the key; a seed goes into walletSeed, as a Uint8Array.';
      throw invalidKey(`it is ${SEED_BYTES} bytes long, as an address is, and a seed`, next);
    }
    if (bytes.length !== KEYPAIR_BYTES)
      throw invalidKey(`it is ${bytes.length} bytes long, not ${KEYPAIR_BYTES}`);
    const seed = bytes.slice(0, SEED_BYTES);
    const address = addressOf(publicKeyOf(seed));
    if (address !== addressOf(bytes.subarray(SEED_BYTES))) {
      seed.fill(0);
      throw invalidKey('its second half is not the public key of its first half');
    }
    return { seed, address };
  } finally {
    bytes.fill(0);
  }
}

function readText(text: string): Uint8Array | undefined {
  if (text.length > MAX_TEXT) return undefined;
  if (BASE58_KEY.test(text)) return base58.decode(text);
  try {
    return readBytes(JSON.parse(text));
  } catch {
    // The parser's own error quotes the text, so it is neither rethrown nor kept as a cause.
    return undefined;
  }
}

/** Returns a copy, so that erasing it leaves the caller's bytes alone. */
function readBytes(value: unknown): Uint8Array | undefined {
  if (isUint8Array(value)) return Uint8Array.from(value);
  if (!Array.isArray(value) || value.length > KEYPAIR_BYTES) return undefined;
  const isByte = (item: unknown): item is number =>
    typeof item === 'number' && Number.isInteger(item) && item >= 0 && item <= 255;
  // `every` skips holes, which would become zeros.
  const items: unknown[] = Array.from(value);
  return items.every(isByte) ? Uint8Array.from(items) : undefined;
}

/** Accepts a `Uint8Array` of another realm too, such as a test runner's. */
export function isUint8Array(value: unknown): value is Uint8Array {
  return Object.prototype.toString.call(value) === '[object Uint8Array]';
}

function invalidKey(
  reason: string,
  next = 'Give the 64 bytes of a keypair: as base58, a JSON array, or bytes.',
): ConfigError {
  return new ConfigError('invalid_key', `The secret key cannot be used: ${reason}. ${next}`, {
    details: { reason },
  });
}

/**
 * Whether a signature is valid. A signer of this module signs the bytes that it gets, so only the
 * length is checked; any other signer's signature is verified.
 */
export async function isGoodSignature(
  signer: Signer,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  if (keySigners.has(signer)) return signature.length === SIGNATURE_BYTES;
  return verifySignature(message, signature, signer.address);
}

/** Whether the address signed exactly these bytes, as strictly as the network checks it. */
export async function verifySignature(
  message: Uint8Array,
  signature: Uint8Array,
  address: Address,
): Promise<boolean> {
  if (signature.length !== SIGNATURE_BYTES || !isAddress(address)) return false;
  // WebKit on Linux accepts a second form of each signature, in which this byte is 16 or more.
  if ((signature[SIGNATURE_BYTES - 1] ?? 0) >= 16) return false;
  const key = addressBytes(address);
  const subtle = quietSubtle();
  const imported = subtle === undefined ? undefined : await publicKey(subtle, address, key);
  if (subtle === undefined || imported === undefined)
    return (await ed25519()).verify(signature, message, key);
  return subtle.verify(ED25519, imported, Uint8Array.from(signature), Uint8Array.from(message));
}

/** Imported keys by address, because most signatures come from the same few facilitators. */
const publicKeys = new Map<Address, Promise<CryptoKey | undefined>>();
const MAX_KEYS = 64;

/**
 * Imports a public key. Undefined if the runtime has no Ed25519, or if it would accept signatures
 * of this key that the network rejects.
 */
function publicKey(
  subtle: SubtleCrypto,
  address: Address,
  bytes: Uint8Array,
): Promise<CryptoKey | undefined> {
  let key = publicKeys.get(address);
  if (key === undefined) {
    key = isStrictKey(bytes)
      ? subtle
          .importKey('raw', Uint8Array.from(bytes), ED25519, false, ['verify'])
          .catch(() => undefined)
      : Promise.resolve(undefined);
    if (publicKeys.size >= MAX_KEYS) publicKeys.clear();
    publicKeys.set(address, key);
  }
  return key;
}
