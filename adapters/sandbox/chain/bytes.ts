import {
  getAddressDecoder,
  getAddressEncoder,
  getBase58Decoder,
  getBase58Encoder,
  getBase64Decoder,
  getBase64Encoder,
  isAddress,
} from '@solana/kit';
import type { Address } from '@solana/kit';
import { createMemory } from '../memory.js';

const addressEncoder = getAddressEncoder();
const addressDecoder = getAddressDecoder();
const addressesByBytes = createMemory<Address>();
const bytesByAddress = createMemory<Uint8Array>();
const base58Encoder = getBase58Encoder();
const base58Decoder = getBase58Decoder();
const base64Encoder = getBase64Encoder();
const base64Decoder = getBase64Decoder();

/**
 * Returns the 32 bytes of an address. Pass only these to the runtime, because a key of another
 * length makes it abort the process.
 */
export function keyBytes(address: Address): Uint8Array {
  return bytesByAddress(address, () => new Uint8Array(addressEncoder.encode(address))).slice();
}

/**
 * Returns the address of 32 bytes, from a cache: the same addresses repeat, and base58 is the
 * slowest part of reading an account.
 */
export function addressOf(bytes: Uint8Array): Address {
  const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  return addressesByBytes(key, () => addressDecoder.decode(bytes));
}

export function parseAddress(text: unknown): Address | undefined {
  return typeof text === 'string' && isAddress(text) ? text : undefined;
}

export function toBase58(bytes: Uint8Array): string {
  return base58Decoder.decode(bytes);
}

export function toBase64(bytes: Uint8Array): string {
  return base64Decoder.decode(bytes);
}

/** Decodes base58. Returns undefined for other text. */
export function fromBase58(text: string): Uint8Array | undefined {
  return /^[1-9A-HJ-NP-Za-km-z]*$/.test(text)
    ? new Uint8Array(base58Encoder.encode(text))
    : undefined;
}

/** Decodes padded base64 of the standard alphabet. Returns undefined for other text. */
export function fromBase64(text: string): Uint8Array | undefined {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)
    ? new Uint8Array(base64Encoder.encode(text))
    : undefined;
}

export function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
