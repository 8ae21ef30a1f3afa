import { TransactionError } from '../../errors.js';
import { addressBytes, addressesBytes, isAddress } from '../address.js';
import type { Address, Instruction, LookupTable } from '../types.js';

/** The most that one packet of the network carries: signatures and message together. */
export const MAX_TRANSACTION_BYTES = 1232;
export const SIGNATURE_BYTES = 64;
/** Indexes into the accounts of a message, and into those of a table, are one byte. */
export const MAX_ACCOUNTS = 256;

const VERSION_0 = 0x80;

export interface MessageInput {
  readonly feePayer: Address;
  readonly instructions: readonly Instruction[];
  readonly blockhash: string;
  readonly lookupTables?: readonly LookupTable[];
}

/** What all instructions together want of an account. */
interface Wanted {
  signer: boolean;
  writable: boolean;
  /** A program: it must stand in the message itself. */
  invoked: boolean;
}

interface Lookup {
  readonly table: Address;
  readonly writable: readonly Found[];
  readonly readonly: readonly Found[];
}

/** An account, and its place in a table. */
interface Found {
  readonly address: Address;
  readonly index: number;
}

/**
 * The serialized v0 message, with its version byte: the same bytes that web3.js compiles. Throws
 * `transaction_too_large` if it would not fit a packet with its signatures.
 */
export function compileMessage(input: MessageInput): Uint8Array {
  const { feePayer, instructions, blockhash, lookupTables = [] } = input;
  if (!isAddress(blockhash)) throw new TypeError('Not a blockhash.');
  const wanted = accountsOf(feePayer, instructions);
  if (wanted.size > MAX_ACCOUNTS) throw tooLarge(32 * wanted.size);
  const lookups = lookUp(wanted, lookupTables);
  // Signers first, the writable ones of both groups before the read-only ones.
  const groups: readonly [Address[], Address[], Address[], Address[]] = [[], [], [], []];
  for (const [address, { signer, writable }] of wanted)
    groups[signer ? (writable ? 0 : 1) : writable ? 2 : 3].push(address);
  const [paying, agreeing, changing, reading] = groups;
  const signers = paying.length + agreeing.length;
  const accounts = paying.concat(agreeing, changing, reading);
  // Indexes count the message's own accounts, then all that tables bring: writable ones first.
  const all = accounts.concat(
    ...lookups.map(({ writable }) => writable.map(({ address }) => address)),
    ...lookups.map(({ readonly }) => readonly.map(({ address }) => address)),
  );
  const bytes = [VERSION_0, signers, agreeing.length, reading.length];
  addLength(bytes, accounts.length);
  addBytes(bytes, addressesBytes([...accounts, blockhash]));
  addLength(bytes, instructions.length);
  for (const { program, accounts: named, data } of instructions) {
    bytes.push(all.indexOf(program));
    addLength(bytes, named.length);
    for (const { address } of named) bytes.push(all.indexOf(address));
    addLength(bytes, data.length);
    addBytes(bytes, data);
  }
  addLength(bytes, lookups.length);
  for (const { table, writable, readonly } of lookups) {
    addBytes(bytes, addressBytes(table));
    for (const found of [writable, readonly]) {
      addLength(bytes, found.length);
      for (const { index } of found) bytes.push(index);
    }
  }
  const size = 1 + SIGNATURE_BYTES * signers + bytes.length;
  if (size > MAX_TRANSACTION_BYTES) throw tooLarge(size);
  return new Uint8Array(bytes);
}

export function tooLarge(bytes: number): TransactionError {
  return new TransactionError(
    'transaction_too_large',
    `The transaction would take ${bytes} bytes of the ${MAX_TRANSACTION_BYTES} that the network carries; use fewer accounts or a simpler route.`,
    { details: { bytes } },
  );
}

/** In the order in which they are named, the fee payer first. */
function accountsOf(feePayer: Address, instructions: readonly Instruction[]): Map<Address, Wanted> {
  const wanted = new Map<Address, Wanted>([
    [feePayer, { signer: true, writable: true, invoked: false }],
  ]);
  const want = (address: Address): Wanted => {
    const one = wanted.get(address) ?? { signer: false, writable: false, invoked: false };
    wanted.set(address, one);
    return one;
  };
  for (const { program, accounts } of instructions) {
    want(program).invoked = true;
    for (const { address, signer, writable } of accounts) {
      const one = want(address);
      one.signer ||= signer;
      one.writable ||= writable;
    }
  }
  return wanted;
}

/** Takes the accounts that tables have out of those that the message names itself. */
function lookUp(wanted: Map<Address, Wanted>, tables: readonly LookupTable[]): Lookup[] {
  const take = ({ addresses }: LookupTable, writable: boolean): Found[] => {
    const found = [...wanted]
      .filter(([, one]) => !one.signer && !one.invoked && one.writable === writable)
      .map(([address]) => ({ address, index: addresses.indexOf(address) }))
      .filter(({ index }) => index >= 0 && index < MAX_ACCOUNTS);
    for (const { address } of found) wanted.delete(address);
    return found;
  };
  return tables
    .map((table) => ({
      table: table.address,
      writable: take(table, true),
      readonly: take(table, false),
    }))
    .filter(({ writable, readonly }) => writable.length + readonly.length > 0);
}

function addBytes(to: number[], bytes: Uint8Array): void {
  // Without the object that an iterator makes of each byte.
  for (let at = 0; at < bytes.length; at += 1) to.push(bytes[at] ?? 0);
}

/** A compact-u16: seven bits a byte, the lowest first. */
function addLength(to: number[], count: number): void {
  for (let rest = count; ; rest >>>= 7) {
    if (rest < 0x80) return void to.push(rest);
    to.push((rest & 0x7f) | 0x80);
  }
}
