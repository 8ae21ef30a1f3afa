import type { Address } from '@solana/kit';
import { addressOf, toBase58 } from './bytes.js';

/** Largest transaction, which must fit in a network packet. */
export const MAX_TRANSACTION_BYTES = 1232;

export interface WireInstruction {
  readonly programIndex: number;
  readonly accounts: Uint8Array;
  readonly data: Uint8Array;
}

interface WireLookup {
  readonly table: Address;
  readonly writable: Uint8Array;
  readonly readonly: Uint8Array;
}

/**
 * A transaction with every byte parsed. Only such bytes may reach the runtime, because it aborts
 * the process on malformed bytes.
 */
export interface WireTransaction {
  readonly bytes: Uint8Array;
  readonly message: Uint8Array;
  readonly signatures: readonly Uint8Array[];
  /** The first signature, base58: the transaction's id. */
  readonly signature: string;
  readonly version: 'legacy' | 0;
  readonly header: {
    readonly signers: number;
    readonly readonlySigners: number;
    readonly readonlyOthers: number;
  };
  readonly keys: readonly Address[];
  readonly blockhash: string;
  readonly instructions: readonly WireInstruction[];
  readonly lookups: readonly WireLookup[];
}

/** An error of malformed bytes. `sanitize` means that they decode to an impossible transaction. */
export class MalformedTransaction extends Error {
  constructor(
    message: string,
    readonly kind: 'decode' | 'sanitize' = 'decode',
  ) {
    super(message);
  }
}

class Reader {
  offset = 0;
  constructor(private readonly bytes: Uint8Array) {}

  take(length: number): Uint8Array {
    const end = this.offset + length;
    if (end > this.bytes.length) throw new MalformedTransaction('io error: unexpected end of file');
    const slice = this.bytes.slice(this.offset, end);
    this.offset = end;
    return slice;
  }

  byte(): number {
    const [byte = 0] = this.take(1);
    return byte;
  }

  /** Reads a compact-u16. It must have the shortest form, because the runtime accepts no other. */
  length(): number {
    let value = 0;
    for (let position = 0; position < 3; position += 1) {
      const byte = this.byte();
      if (byte === 0 && position > 0) throw new MalformedTransaction('custom: alias encoding');
      value |= (byte & 0x7f) << (7 * position);
      if (byte < 0x80) {
        if (value > 0xffff) throw new MalformedTransaction('custom: u16 overflow');
        return value;
      }
    }
    throw new MalformedTransaction('custom: byte three continues');
  }

  list<T>(item: () => T): T[] {
    return Array.from({ length: this.length() }, item);
  }

  address = (): Address => addressOf(this.take(32));
}

/**
 * Decodes a legacy or v0 transaction and applies the runtime's structural checks; throws
 * `MalformedTransaction`.
 */
export function parseTransaction(bytes: Uint8Array): WireTransaction {
  if (bytes.length > MAX_TRANSACTION_BYTES) {
    throw new MalformedTransaction(
      `VersionedTransaction too large: ${bytes.length} bytes (max: encoded/raw 1644/${MAX_TRANSACTION_BYTES})`,
    );
  }
  const reader = new Reader(bytes);
  const signatures = reader.list(() => reader.take(64));
  const start = reader.offset;
  const first = reader.byte();
  if (first > 0x80)
    throw new MalformedTransaction(
      `invalid value: integer \`${first & 0x7f}\`, expected a valid transaction message version`,
    );
  const version = first === 0x80 ? 0 : 'legacy';
  const header = {
    signers: version === 0 ? reader.byte() : first,
    readonlySigners: reader.byte(),
    readonlyOthers: reader.byte(),
  };
  const keys = reader.list(reader.address);
  const blockhash = toBase58(reader.take(32));
  const instructions = reader.list(() => ({
    programIndex: reader.byte(),
    accounts: reader.take(reader.length()),
    data: reader.take(reader.length()),
  }));
  const lookups =
    version === 0
      ? reader.list(() => ({
          table: reader.address(),
          writable: reader.take(reader.length()),
          readonly: reader.take(reader.length()),
        }))
      : [];
  if (reader.offset !== bytes.length) throw new MalformedTransaction('custom: trailing bytes');

  const [id] = signatures;
  const transaction: WireTransaction = {
    bytes,
    message: bytes.slice(start),
    signatures,
    signature: id === undefined ? '' : toBase58(id),
    version,
    header,
    keys,
    blockhash,
    instructions,
    lookups,
  };
  if (!isSane(transaction)) {
    throw new MalformedTransaction(
      'invalid transaction: Transaction failed to sanitize accounts offsets correctly',
      'sanitize',
    );
  }
  return transaction;
}

function isSane({ header, keys, signatures, instructions, lookups }: WireTransaction): boolean {
  const loaded = lookups.reduce(
    (sum, lookup) => sum + lookup.writable.length + lookup.readonly.length,
    0,
  );
  const count = keys.length + loaded;
  return (
    signatures.length > 0 &&
    signatures.length === header.signers &&
    header.readonlySigners < header.signers &&
    header.signers + header.readonlyOthers <= keys.length &&
    count <= 256 &&
    lookups.every((lookup) => lookup.writable.length + lookup.readonly.length > 0) &&
    instructions.every(
      ({ programIndex, accounts }) =>
        programIndex > 0 && programIndex < keys.length && accounts.every((index) => index < count),
    )
  );
}

/** Returns true if the header makes the static key at `index` writable. */
export function isStaticWritable({ header, keys }: WireTransaction, index: number): boolean {
  return index < header.signers
    ? index < header.signers - header.readonlySigners
    : index < keys.length - header.readonlyOthers;
}
