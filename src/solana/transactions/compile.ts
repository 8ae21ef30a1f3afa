import { TransactionError } from '../../errors.js';
import { addressBytes, isAddress } from '../address.js';
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
  const group = (signer: boolean, writable: boolean): Address[] =>
    [...wanted]
      .filter(([, one]) => one.signer === signer && one.writable === writable)
      .map(([address]) => address);
  const signing = [...group(true, true), ...group(true, false)];
  const reading = group(false, false);
  const accounts = [...signing, ...group(false, true), ...reading];
  // Indexes count the message's own accounts, then all that tables bring: writable ones first.
  const all = [
    ...accounts,
    ...lookups.flatMap(({ writable }) => writable.map(({ address }) => address)),
    ...lookups.flatMap(({ readonly }) => readonly.map(({ address }) => address)),
  ];
  const place = (address: Address): number => all.indexOf(address);
  const message = Uint8Array.from([
    ...[VERSION_0, signing.length, group(true, false).length, reading.length],
    ...list(accounts, (address) => addressBytes(address)),
    ...addressBytes(blockhash),
    ...list(instructions, ({ program, accounts: named, data }) => [
      place(program),
      ...list(named, ({ address }) => [place(address)]),
      ...length(data.length),
      ...data,
    ]),
    ...list(lookups, ({ table, writable, readonly }) => [
      ...addressBytes(table),
      ...list(writable, ({ index }) => [index]),
      ...list(readonly, ({ index }) => [index]),
    ]),
  ]);
  const bytes = 1 + SIGNATURE_BYTES * signing.length + message.length;
  if (bytes > MAX_TRANSACTION_BYTES) throw tooLarge(bytes);
  return message;
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

function list<T>(items: readonly T[], bytes: (item: T) => Iterable<number>): number[] {
  return [...length(items.length), ...items.flatMap((item) => [...bytes(item)])];
}

/** A compact-u16: seven bits a byte, the lowest first. */
function length(count: number): number[] {
  return count < 0x80 ? [count] : [(count & 0x7f) | 0x80, ...length(count >>> 7)];
}
