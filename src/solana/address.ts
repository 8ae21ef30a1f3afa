import { base58 } from '../internal/bytes.js';
import type { Address } from './types.js';

const KEY_BYTES = 32;
// 32 bytes are 32 (all zero) to 44 base58 digits. The shape is checked before decoding, because
// the time to decode grows with the square of the length.
const SHAPE = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

/** Known addresses with their bytes, because each step reads the same few addresses. */
const known = new Map<Address, Uint8Array>();
const MAX_KNOWN = 1_000;

/** Whether a value is the canonical base58 form of 32 bytes. */
export function isAddress(value: unknown): value is Address {
  if (typeof value !== 'string' || !SHAPE.test(value)) return false;
  if (known.has(value)) return true;
  const bytes = base58.decode(value);
  const spelling = base58.encode(bytes);
  if (bytes.length !== KEY_BYTES || spelling !== value) return false;
  if (known.size >= MAX_KNOWN) known.clear();
  // Not `value` itself: it may be a slice, which would keep the whole text in memory.
  known.set(spelling, bytes);
  return true;
}

/**
 * Returns the 32 bytes of an address. Throws a TypeError on anything else, so check with
 * {@link isAddress} first.
 */
export function addressBytes(address: Address): Uint8Array {
  return knownBytes(address).slice();
}

/** Returns the bytes of the addresses, joined in order. Throws as {@link addressBytes} does. */
export function addressesBytes(addresses: readonly Address[]): Uint8Array {
  const bytes = new Uint8Array(KEY_BYTES * addresses.length);
  addresses.forEach((address, at) => bytes.set(knownBytes(address), KEY_BYTES * at));
  return bytes;
}

/** Returns the cached bytes themselves: do not write to them. */
function knownBytes(address: Address): Uint8Array {
  if (!isAddress(address)) throw new TypeError('Not a Solana address.');
  return known.get(address) ?? base58.decode(address);
}

export function addressOf(bytes: Uint8Array): Address {
  if (bytes.length !== KEY_BYTES)
    throw new TypeError(`A Solana address is ${KEY_BYTES} bytes, not ${bytes.length}.`);
  return base58.encode(bytes);
}
