import { TransactionError } from '../../errors.js';
import { addressBytes, addressesBytes, isAddress } from '../address.js';
import type { Address, Instruction, LookupTable } from '../types.js';

/** The most bytes of one network packet: signatures and message together. */
export const MAX_TRANSACTION_BYTES = 1232;
export const SIGNATURE_BYTES = 64;
/** Lamports that the network takes for each signature. */
export const SIGNATURE_LAMPORTS = 5_000n;
/** An index into the accounts of a message or of a table is one byte. */
export const MAX_ACCOUNTS = 256;

const VERSION_0 = 0x80;

export interface MessageInput {
  readonly feePayer: Address;
  readonly instructions: readonly Instruction[];
  readonly blockhash: string;
  readonly lookupTables?: readonly LookupTable[];
}

/** The rights of an account, merged from all instructions. */
interface Wanted {
  signer: boolean;
  writable: boolean;
  /** Whether it is a program: then the message itself must name it, not a table. */
  invoked: boolean;
}

interface Lookup {
  readonly table: Address;
  readonly writable: readonly Found[];
  readonly readonly: readonly Found[];
}

interface Found {
  readonly address: Address;
  readonly index: number;
}

/**
 * Returns the serialized v0 message with its version byte, the same bytes that web3.js compiles.
 * Throws `transaction_too_large` if the message and its signatures would not fit a packet.
 */
export function compileMessage(input: MessageInput): Uint8Array {
  const { feePayer, instructions, blockhash, lookupTables = [] } = input;
  if (!isAddress(blockhash)) throw new TypeError('Not a blockhash.');
  const wanted = accountsOf(feePayer, instructions);
  if (wanted.size > MAX_ACCOUNTS) throw tooLarge(32 * wanted.size);
  const lookups = lookUp(wanted, lookupTables);
  // Signers come first. In both groups the writable accounts come before the read-only accounts.
  const groups: readonly [Address[], Address[], Address[], Address[]] = [[], [], [], []];
  for (const [address, { signer, writable }] of wanted)
    groups[signer ? (writable ? 0 : 1) : writable ? 2 : 3].push(address);
  const [paying, agreeing, changing, reading] = groups;
  const signers = paying.length + agreeing.length;
  const accounts = paying.concat(agreeing, changing, reading);
  // Indexes count the message's own accounts first, then all accounts of tables, writable first.
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

/** Returns the accounts in the order in which instructions name them, the fee payer first. */
function accountsOf(feePayer: Address, instructions: readonly Instruction[]): Map<Address, Wanted> {
  const wanted = new Map<Address, Wanted>([
    [feePayer, { signer: true, writable: true, invoked: false }],
  ]);
  const want = (address: Address): Wanted => {
    const rights = wanted.get(address) ?? { signer: false, writable: false, invoked: false };
    wanted.set(address, rights);
    return rights;
  };
  for (const { program, accounts } of instructions) {
    want(program).invoked = true;
    for (const { address, signer, writable } of accounts) {
      const rights = want(address);
      rights.signer ||= signer;
      rights.writable ||= writable;
    }
  }
  return wanted;
}

/** Removes from `wanted` each account that a table has, and returns these accounts by table. */
function lookUp(wanted: Map<Address, Wanted>, tables: readonly LookupTable[]): Lookup[] {
  const take = ({ addresses }: LookupTable, writable: boolean): Found[] => {
    const found = [...wanted]
      .filter(([, rights]) => !rights.signer && !rights.invoked && rights.writable === writable)
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
  // An iterator would create an object for each byte.
  for (let at = 0; at < bytes.length; at += 1) to.push(bytes[at] ?? 0);
}

/** Adds a compact-u16: seven bits in each byte, lowest bits first. */
function addLength(to: number[], count: number): void {
  for (let remaining = count; ; remaining >>>= 7) {
    if (remaining < 0x80) return void to.push(remaining);
    to.push((remaining & 0x7f) | 0x80);
  }
}
