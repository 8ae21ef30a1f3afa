import { base58 } from '../../internal/bytes.js';
import type { Address } from '../types.js';
import { MAX_TRANSACTION_BYTES, SIGNATURE_BYTES, tooLarge } from './compile.js';

/** A decoded v0 message; its indexes are not resolved yet. */
export interface DecodedMessage {
  readonly header: MessageHeader;
  readonly staticAccounts: readonly Address[];
  readonly blockhash: string;
  readonly instructions: readonly DecodedInstruction[];
  readonly lookups: readonly DecodedLookup[];
}

export interface MessageHeader {
  readonly numRequiredSignatures: number;
  readonly numReadonlySigned: number;
  readonly numReadonlyUnsigned: number;
}

export interface DecodedInstruction {
  readonly programIndex: number;
  readonly accountIndexes: readonly number[];
  readonly data: Uint8Array;
}

export interface DecodedLookup {
  readonly table: Address;
  readonly writable: readonly number[];
  readonly readonly: readonly number[];
}

const VERSION_0 = 0x80;
const KEY_BYTES = 32;

/** Thrown for bytes that do not decode; never leaves this file. */
class Malformed extends Error {}

class Cursor {
  private offset = 0;

  constructor(private readonly bytes: Uint8Array) {}

  take(length: number): Uint8Array {
    const end = this.offset + length;
    if (end > this.bytes.length) throw new Malformed('ends early');
    const part = this.bytes.slice(this.offset, end);
    this.offset = end;
    return part;
  }

  byte(): number {
    const value = this.bytes[this.offset];
    if (value === undefined) throw new Malformed('ends early');
    this.offset += 1;
    return value;
  }

  /**
   * Reads a compact-u16 in its shortest form. The network rejects longer forms, and so a decoded
   * message encodes to the same bytes again.
   */
  length(): number {
    let value = 0;
    for (let shift = 0; shift <= 14; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if ((byte & 0x80) !== 0) continue;
      if ((byte === 0 && shift > 0) || value > 0xffff) break;
      return value;
    }
    throw new Malformed('not a compact-u16');
  }

  list<T>(read: () => T): T[] {
    const items: T[] = [];
    for (let left = this.length(); left > 0; left -= 1) items.push(read());
    return items;
  }

  rest(): Uint8Array {
    return this.take(this.bytes.length - this.offset);
  }

  end(): void {
    if (this.offset !== this.bytes.length) throw new Malformed('has trailing bytes');
  }
}

/** Returns the result of `read` over the bytes, or undefined if they are malformed. */
function decodeWith<T>(bytes: Uint8Array, read: (cursor: Cursor) => T): T | undefined {
  try {
    return read(new Cursor(bytes));
  } catch (error) {
    if (error instanceof Malformed) return undefined;
    throw error;
  }
}

/**
 * Decodes a serialized v0 message with its version byte. It is strict: it allows one encoding for
 * each message, no trailing bytes, and only a header that fits the accounts. web3.js accepts
 * trailing bytes, missing bytes and impossible headers.
 */
export function decodeMessage(bytes: Uint8Array): DecodedMessage | undefined {
  const message = decodeWith(bytes, readMessage);
  return message !== undefined && isSane(message) ? message : undefined;
}

function readMessage(cursor: Cursor): DecodedMessage {
  if (cursor.byte() !== VERSION_0) throw new Malformed('not version 0');
  const header = {
    numRequiredSignatures: cursor.byte(),
    numReadonlySigned: cursor.byte(),
    numReadonlyUnsigned: cursor.byte(),
  };
  const key = () => addressIn(cursor.take(KEY_BYTES));
  const index = () => cursor.byte();
  const message = {
    header,
    staticAccounts: cursor.list(key),
    blockhash: key(),
    instructions: cursor.list(() => ({
      programIndex: cursor.byte(),
      accountIndexes: cursor.list(index),
      data: cursor.take(cursor.length()),
    })),
    lookups: cursor.list(() => ({
      table: key(),
      writable: cursor.list(index),
      readonly: cursor.list(index),
    })),
  };
  cursor.end();
  return message;
}

/** A cache of encoded addresses, with 1,024 slots chosen by the last bits of the key. */
const spelt = new Map<number, { readonly bytes: Uint8Array; readonly address: Address }>();

/** Encodes an address through the cache, because messages repeat a few addresses. */
function addressIn(bytes: Uint8Array): Address {
  const slot = (((bytes[30] ?? 0) << 8) | (bytes[31] ?? 0)) & 1_023;
  let entry = spelt.get(slot);
  if (entry === undefined || entry.bytes.some((byte, at) => byte !== bytes[at])) {
    entry = { bytes, address: base58.encode(bytes) };
    spelt.set(slot, entry);
  }
  return entry.address;
}

/**
 * Applies the network's first checks: the fee payer signs and is writable, each group fits into the
 * accounts, and each lookup table brings an account.
 */
function isSane({ header, staticAccounts, lookups }: DecodedMessage): boolean {
  const { numRequiredSignatures, numReadonlySigned, numReadonlyUnsigned } = header;
  const fits =
    numRequiredSignatures > numReadonlySigned &&
    numReadonlyUnsigned <= staticAccounts.length - numRequiredSignatures;
  return fits && lookups.every(({ writable, readonly }) => writable.length + readonly.length > 0);
}

/** Whether the account at an index of the static accounts is writable. */
export function isWritable({ header, staticAccounts }: DecodedMessage, index: number): boolean {
  const { numRequiredSignatures, numReadonlySigned, numReadonlyUnsigned } = header;
  return index < numRequiredSignatures
    ? index < numRequiredSignatures - numReadonlySigned
    : index < staticAccounts.length - numReadonlyUnsigned;
}

/** A v0 transaction in plain data. `message` holds the signed bytes. */
export interface DecodedTransaction extends DecodedMessage {
  readonly signatures: readonly Uint8Array[];
  readonly message: Uint8Array;
}

/** Serializes a message with its signatures; a missing signature becomes 64 zero bytes. */
export function assembleTransaction(
  message: Uint8Array,
  signatures: ReadonlyMap<Address, Uint8Array>,
): Uint8Array {
  const signers = messageSigners(message);
  for (const [address, signature] of signatures) {
    if (!signers.includes(address))
      throw new TypeError('A signature of an address that is not asked to sign.');
    if (signature.length !== SIGNATURE_BYTES)
      throw new TypeError(`A signature is ${SIGNATURE_BYTES} bytes, not ${signature.length}.`);
  }
  // One byte suffices for the count, because 19 signatures fill a packet.
  const wire = new Uint8Array(1 + SIGNATURE_BYTES * signers.length + message.length);
  if (wire.length > MAX_TRANSACTION_BYTES) throw tooLarge(wire.length);
  wire[0] = signers.length;
  signers.forEach((address, index) =>
    wire.set(
      signatures.get(address) ?? new Uint8Array(SIGNATURE_BYTES),
      1 + SIGNATURE_BYTES * index,
    ),
  );
  wire.set(message, 1 + SIGNATURE_BYTES * signers.length);
  return wire;
}

/**
 * Decodes a serialized transaction: version 0, at most 1,232 bytes, one encoding only, and one
 * signature for each signer. Returns undefined for anything else, and never throws.
 */
export function decodeTransaction(bytes: Uint8Array): DecodedTransaction | undefined {
  if (bytes.length > MAX_TRANSACTION_BYTES) return undefined;
  const parts = decodeWith(bytes, (cursor) => ({
    signatures: cursor.list(() => cursor.take(SIGNATURE_BYTES)),
    message: cursor.rest(),
  }));
  const decoded = parts === undefined ? undefined : decodeMessage(parts.message);
  if (parts === undefined || decoded === undefined) return undefined;
  return parts.signatures.length === decoded.header.numRequiredSignatures
    ? { ...parts, ...decoded }
    : undefined;
}

/** Returns the transaction's id: base58 of the fee payer's signature. */
export function firstSignature(bytes: Uint8Array): string {
  const first = decodeTransaction(bytes)?.signatures[0];
  if (first === undefined) throw new TypeError('Not a v0 transaction.');
  return base58.encode(first);
}

export function messageSigners(message: Uint8Array): Address[] {
  const decoded = decodeMessage(message);
  if (decoded === undefined) throw new TypeError('Not a v0 message.');
  return decoded.staticAccounts.slice(0, decoded.header.numRequiredSignatures);
}
