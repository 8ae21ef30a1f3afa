import { addressBytes, isAddress } from './address.js';
import { isStrictKey } from './curve.js';
import { isKeySigner } from './keys.js';
import type { Signer } from './signer.js';
import type { Address } from './types.js';
import { ED25519, quietSubtle } from './web-crypto.js';
import { part } from '../internal/load-once.js';

const ed25519 = /* @__PURE__ */ part(() => import('./ed25519.js'));

const SIGNATURE_BYTES = 64;

/**
 * Whether a signature is what a signer had to give: a key signer of ours signs what it gets, any
 * other is not believed.
 */
export async function isGoodSignature(
  signer: Signer,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  if (isKeySigner(signer)) return signature.length === SIGNATURE_BYTES;
  return verifySignature(message, signature, signer.address);
}

/**
 * Whether the signature is the address's own over exactly these bytes, as strictly as the network
 * checks it.
 */
export async function verifySignature(
  message: Uint8Array,
  signature: Uint8Array,
  address: Address,
): Promise<boolean> {
  if (signature.length !== SIGNATURE_BYTES || !isAddress(address)) return false;
  const key = addressBytes(address);
  const subtle = quietSubtle();
  const imported = subtle === undefined ? undefined : await publicKey(subtle, address, key);
  if (subtle === undefined || imported === undefined)
    return (await ed25519()).verify(signature, message, key);
  return subtle.verify(ED25519, imported, Uint8Array.from(signature), Uint8Array.from(message));
}

/** By address, the last used ones: the same few facilitators sign what is verified. */
const publicKeys = new Map<Address, Promise<CryptoKey | undefined>>();
const MAX_KEYS = 64;

/**
 * Undefined if the runtime has no Ed25519, or takes signatures of this key that the network does
 * not.
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
