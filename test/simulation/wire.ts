import { base58 } from '@scure/base';

/** An instruction of a message, with the addresses of its accounts. */
export interface Step {
  readonly program: string;
  readonly accounts: readonly string[];
  readonly data: Uint8Array;
}

/**
 * A v0 message without lookup tables. The simulator has its own decoder, so that an error in the
 * library's code does not hide itself.
 */
export interface Message {
  /** Fee payer first. */
  readonly signers: readonly string[];
  readonly keys: readonly string[];
  readonly header: readonly [signed: number, readonlySigned: number, readonlyUnsigned: number];
  readonly blockhash: string;
  readonly steps: readonly Step[];
  /** Instructions as on the wire, with indexes of accounts. */
  readonly compiled: readonly {
    readonly programIdIndex: number;
    readonly accounts: readonly number[];
    readonly data: Uint8Array;
  }[];
}

export interface Wire {
  readonly signatures: readonly Uint8Array[];
  readonly message: Uint8Array;
}

const names = new Map<string, string>();

/** Encodes bytes in base58, with a cache, because the same few addresses repeat. */
export function addressOf(bytes: Uint8Array): string {
  const name = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  let text = names.get(name);
  if (text === undefined) {
    if (names.size > 100_000) names.clear();
    names.set(name, (text = base58.encode(bytes)));
  }
  return text;
}

class Reader {
  private at = 0;
  constructor(private readonly bytes: Uint8Array) {}
  take(length: number): Uint8Array {
    const part = this.bytes.subarray(this.at, this.at + length);
    if (part.length !== length) throw new RangeError('The bytes end early.');
    this.at += length;
    return part;
  }
  byte(): number {
    return this.take(1)[0] ?? 0;
  }
  count(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
  list<T>(read: () => T): T[] {
    return Array.from({ length: this.count() }, read);
  }
  rest(): Uint8Array {
    return this.bytes.subarray(this.at);
  }
}

export function readWire(bytes: Uint8Array): Wire {
  const reader = new Reader(bytes);
  const signatures = reader.list(() => reader.take(64));
  return { signatures, message: reader.rest() };
}

export function readMessage(bytes: Uint8Array): Message {
  const reader = new Reader(bytes);
  if (reader.byte() !== 0x80) throw new RangeError('Not a v0 message.');
  const header: [number, number, number] = [reader.byte(), reader.byte(), reader.byte()];
  const keys = reader.list(() => addressOf(reader.take(32)));
  const blockhash = addressOf(reader.take(32));
  const compiled = reader.list(() => ({
    programIdIndex: reader.byte(),
    accounts: reader.list(() => reader.byte()),
    data: reader.take(reader.count()),
  }));
  if (reader.count() !== 0 || reader.rest().length > 0)
    throw new RangeError('The message names lookup tables.');
  const key = (index: number): string => {
    const found = keys[index];
    if (found === undefined) throw new RangeError('An account that is not there.');
    return found;
  };
  const steps = compiled.map(({ programIdIndex, accounts, data }) => ({
    program: key(programIdIndex),
    accounts: accounts.map(key),
    data,
  }));
  return { signers: keys.slice(0, header[0]), keys, header, blockhash, steps, compiled };
}

export function u64At(data: Uint8Array, offset: number): bigint {
  return new DataView(data.buffer, data.byteOffset, data.byteLength).getBigUint64(offset, true);
}

export function u16At(data: Uint8Array, offset: number): number {
  return new DataView(data.buffer, data.byteOffset, data.byteLength).getUint16(offset, true);
}

export function u32At(data: Uint8Array, offset: number): number {
  return new DataView(data.buffer, data.byteOffset, data.byteLength).getUint32(offset, true);
}

/** Serialises a signed transaction. */
export function writeWire(message: Uint8Array, signatures: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(1 + 64 * signatures.length + message.length);
  bytes[0] = signatures.length;
  signatures.forEach((signature, index) => bytes.set(signature, 1 + 64 * index));
  bytes.set(message, 1 + 64 * signatures.length);
  return bytes;
}
