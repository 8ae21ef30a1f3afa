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
  return knownBytes(address).slice();
}

/** The bytes of addresses, one after the other. Throws as {@link addressBytes}. */
export function addressesBytes(addresses: readonly Address[]): Uint8Array {
  const bytes = new Uint8Array(KEY_BYTES * addresses.length);
  addresses.forEach((address, at) => bytes.set(knownBytes(address), KEY_BYTES * at));
  return bytes;
}

/** Not to be written to. */
function knownBytes(address: Address): Uint8Array {
  if (!isAddress(address)) throw new TypeError('Not a Solana address.');
  return known.get(address) ?? base58.decode(address);
}

/** The address of 32 bytes. */
export function addressOf(bytes: Uint8Array): Address {
  if (bytes.length !== KEY_BYTES)
    throw new TypeError(`A Solana address is ${KEY_BYTES} bytes, not ${bytes.length}.`);
  return base58.encode(bytes);
}

/** The last of them, in 1,024 places by their last bits. */
const spelt = new Map<number, { readonly bytes: Uint8Array; readonly address: Address }>();

/** As {@link addressOf}, for what stands in messages: the same few again and again. */
export function addressInMessage(bytes: Uint8Array): Address {
  const place = (((bytes[30] ?? 0) << 8) | (bytes[31] ?? 0)) & 1_023;
  let one = spelt.get(place);
  if (one === undefined || one.bytes.some((byte, at) => byte !== bytes[at])) {
    one = { bytes: bytes.slice(), address: addressOf(bytes) };
    spelt.set(place, one);
  }
  return one.address;
}

/** Those that stand there one after the other. */
export function addressesInMessage(bytes: Uint8Array): Address[] {
  const found: Address[] = [];
  for (let at = 0; at < bytes.length; at += KEY_BYTES)
    found.push(addressInMessage(bytes.subarray(at, at + KEY_BYTES)));
  return found;
}
