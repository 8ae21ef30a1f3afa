import { base58 } from '@scure/base';
import {
  AddressLookupTableAccount,
  MessageV0,
  PublicKey,
  TransactionInstruction,
} from '@solana/web3.js';
import { Buffer } from 'buffer';
import { U64_MAX } from '../../amount.js';
import { TransactionError } from '../../errors.js';
import { isAddress } from '../address.js';
import type { AccountMeta, Address, Instruction, LookupTable } from '../types.js';
import { decodeMessage, decodeWith } from './message.js';
import type { DecodedMessage } from './message.js';

/** The most that one packet of the network carries: signatures and message together. */
export const MAX_TRANSACTION_BYTES = 1232;
const SIGNATURE_BYTES = 64;
/** Indexes into the accounts of a message are one byte. */
const MAX_ACCOUNTS = 256;

/** A v0 transaction in plain data. `message` is what was signed. */
export interface DecodedTransaction extends DecodedMessage {
  readonly signatures: readonly Uint8Array[];
  readonly message: Uint8Array;
}

export interface MessageInput {
  readonly feePayer: Address;
  readonly instructions: readonly Instruction[];
  readonly blockhash: string;
  readonly lookupTables?: readonly LookupTable[];
}

/**
 * The serialized v0 message, with its version byte. Throws `transaction_too_large` if it would
 * not fit a packet with its signatures.
 */
export function compileMessage(input: MessageInput): Uint8Array {
  const { feePayer, instructions, blockhash, lookupTables = [] } = input;
  if (!isAddress(blockhash)) throw new TypeError('Not a blockhash.');
  const accounts = new Set([
    feePayer,
    ...instructions.flatMap((one) => [
      one.program,
      ...one.accounts.map((account) => account.address),
    ]),
  ]);
  if (accounts.size > MAX_ACCOUNTS) throw tooLarge(32 * accounts.size);
  const compiled = MessageV0.compile({
    payerKey: publicKey(feePayer),
    instructions: instructions.map(toWeb3Instruction),
    recentBlockhash: blockhash,
    addressLookupTableAccounts: lookupTables.map(toWeb3Table),
  });
  // Measured before serializing: web3.js throws a bare RangeError above 1,232 bytes and does not
  // count the signatures.
  const bytes = messageBytes(compiled) + signatureBytes(compiled.header.numRequiredSignatures);
  if (bytes > MAX_TRANSACTION_BYTES) throw tooLarge(bytes);
  return Uint8Array.from(compiled.serialize());
}

/** Wire bytes of a message and its signatures; a signer without one gets 64 zero bytes. */
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
  // One byte holds the count: 19 signatures fill a packet.
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
 * Decodes wire bytes: version 0, at most 1,232 bytes, one encoding only, one signature for each
 * signer. Undefined otherwise; never throws.
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

/**
 * The instructions with their accounts spelled out. Undefined if an index is out of range, a
 * program comes from a lookup table, is writable or signs, a table is missing or named twice, or an
 * account appears twice.
 */
export function resolveInstructions(
  decoded: DecodedMessage,
  tables: readonly LookupTable[],
): Instruction[] | undefined {
  const accounts = resolveAccounts(decoded, tables);
  if (accounts === undefined) return undefined;
  const instructions: Instruction[] = [];
  for (const { programIndex, accountIndexes, data } of decoded.instructions) {
    const program = programAt(decoded, accounts, programIndex);
    const metas = all(accountIndexes.map((index) => accounts[index]));
    if (program === undefined || metas === undefined) return undefined;
    instructions.push({ program, accounts: metas, data });
  }
  return instructions;
}

/**
 * Programs stand among the static accounts; the network treats a writable one as read-only, we do
 * not guess what was meant.
 */
function programAt(
  { staticAccounts }: DecodedMessage,
  accounts: readonly AccountMeta[],
  index: number,
): Address | undefined {
  const meta = index < staticAccounts.length ? accounts[index] : undefined;
  return meta === undefined || meta.writable || meta.signer ? undefined : meta.address;
}

/** The transaction's id: base58 of the fee payer's signature. */
export function firstSignature(bytes: Uint8Array): string {
  const first = decodeTransaction(bytes)?.signatures[0];
  if (first === undefined) throw new TypeError('Not a v0 transaction.');
  return base58.encode(first);
}

/** The wallets that have to sign, fee payer first. */
export function messageSigners(message: Uint8Array): Address[] {
  const decoded = decodeMessage(message);
  if (decoded === undefined) throw new TypeError('Not a v0 message.');
  return decoded.staticAccounts.slice(0, decoded.header.numRequiredSignatures);
}

/**
 * Static accounts, then all writable and then all read-only ones from tables: the order that
 * indexes count in.
 */
function resolveAccounts(
  decoded: DecodedMessage,
  tables: readonly LookupTable[],
): AccountMeta[] | undefined {
  const { header, staticAccounts, lookups } = decoded;
  const { numRequiredSignatures: signed, numReadonlySigned, numReadonlyUnsigned } = header;
  const fixed = staticAccounts.map((address, index) => ({
    address,
    signer: index < signed,
    writable:
      index < signed
        ? index < signed - numReadonlySigned
        : index < staticAccounts.length - numReadonlyUnsigned,
  }));
  const load = (writable: boolean) =>
    lookups.flatMap((lookup) => {
      const table = tables.find((one) => one.address === lookup.table);
      return (writable ? lookup.writable : lookup.readonly).map((index) => {
        const address = table?.addresses[index];
        return address === undefined ? undefined : { address, signer: false, writable };
      });
    });
  const accounts = all([...fixed, ...load(true), ...load(false)]);
  if (accounts === undefined || accounts.length > MAX_ACCOUNTS) return undefined;
  const distinct = (addresses: readonly Address[]) => new Set(addresses).size === addresses.length;
  return distinct(accounts.map((one) => one.address)) && distinct(lookups.map((one) => one.table))
    ? accounts
    : undefined;
}

function all<T>(items: readonly (T | undefined)[]): T[] | undefined {
  const present = items.filter((item): item is T => item !== undefined);
  return present.length === items.length ? present : undefined;
}

function messageBytes(message: MessageV0): number {
  const counted = (length: number) => (length < 0x80 ? 1 : length < 0x4000 ? 2 : 3) + length;
  const list = (count: number, bytes: number) => counted(count) - count + bytes;
  const sum = (sizes: readonly number[]) => sizes.reduce((total, size) => total + size, 0);
  return (
    1 + // version
    3 + // header
    list(message.staticAccountKeys.length, 32 * message.staticAccountKeys.length) +
    32 + // blockhash
    list(
      message.compiledInstructions.length,
      sum(
        message.compiledInstructions.map(
          (one) => 1 + counted(one.accountKeyIndexes.length) + counted(one.data.length),
        ),
      ),
    ) +
    list(
      message.addressTableLookups.length,
      sum(
        message.addressTableLookups.map(
          (one) => 32 + counted(one.writableIndexes.length) + counted(one.readonlyIndexes.length),
        ),
      ),
    )
  );
}

function signatureBytes(count: number): number {
  return 1 + SIGNATURE_BYTES * count;
}

function tooLarge(bytes: number): TransactionError {
  return new TransactionError(
    'transaction_too_large',
    `The transaction would take ${bytes} bytes of the ${MAX_TRANSACTION_BYTES} that the network carries; use fewer accounts or a simpler route.`,
    { details: { bytes } },
  );
}

function toWeb3Instruction({ program, accounts, data }: Instruction): TransactionInstruction {
  return new TransactionInstruction({
    programId: publicKey(program),
    keys: accounts.map(({ address, signer, writable }) => ({
      pubkey: publicKey(address),
      isSigner: signer,
      isWritable: writable,
    })),
    data: Buffer.from(data),
  });
}

function toWeb3Table({ address, addresses }: LookupTable): AddressLookupTableAccount {
  return new AddressLookupTableAccount({
    key: publicKey(address),
    // Only the addresses are used to compile; which of them are usable is judged where the table is
    // fetched.
    state: {
      deactivationSlot: U64_MAX,
      lastExtendedSlot: 0,
      lastExtendedSlotStartIndex: 0,
      addresses: addresses.map(publicKey),
    },
  });
}

/** web3.js takes numbers, arrays and text of any length as keys. */
function publicKey(address: Address): PublicKey {
  if (!isAddress(address)) throw new TypeError('Not a Solana address.');
  return new PublicKey(address);
}
