import { base58 } from '../internal/bytes.js';
import type { Address } from './types.js';

const KEY_BYTES = 32;
// 32 bytes are 32 (all zero) to 44 base58 digits. Checked before decoding, whose time grows with
// the square of the length.
const SHAPE = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

/** What was seen to be an address, with its bytes: the same few are read at every step. */
const known = new Map<Address, Uint8Array>();
const MAX_KNOWN = 1_000;

/** True for the one canonical base58 spelling of 32 bytes. */
export function isAddress(value: unknown): value is Address {
  if (typeof value !== 'string' || !SHAPE.test(value)) return false;
  if (known.has(value)) return true;
  const bytes = base58.decode(value);
  const spelling = base58.encode(bytes);
  if (bytes.length !== KEY_BYTES || spelling !== value) return false;
  if (known.size >= MAX_KNOWN) known.clear();
  // Not the value: it may be a slice, and would keep all of the text that it was cut from.
  known.set(spelling, bytes);
  return true;
}

/**
 * The 32 bytes of an address. Throws a TypeError on anything else: callers check with
 * {@link isAddress} first.
 */
export function addressBytes(address: Address): Uint8Array {
  if (!isAddress(address)) throw new TypeError('Not a Solana address.');
  return known.get(address)?.slice() ?? base58.decode(address);
}

/** The bytes of addresses, one after the other. Throws as {@link addressBytes}. */
export function addressesBytes(addresses: readonly Address[]): number[] {
  return addresses.flatMap((address) => [...addressBytes(address)]);
}

/** The address of 32 bytes. */
export function addressOf(bytes: Uint8Array): Address {
  if (bytes.length !== KEY_BYTES)
    throw new TypeError(`A Solana address is ${KEY_BYTES} bytes, not ${bytes.length}.`);
  return base58.encode(bytes);
}
