import { base58 } from '../../internal/bytes.js';
import type { AccountMeta, Address, Instruction, LookupTable } from '../types.js';
import { MAX_ACCOUNTS, MAX_TRANSACTION_BYTES, SIGNATURE_BYTES, tooLarge } from './compile.js';
import { decodeMessage, decodeWith } from './message.js';
import type { DecodedMessage } from './message.js';

/** A v0 transaction in plain data. `message` is what was signed. */
export interface DecodedTransaction extends DecodedMessage {
  readonly signatures: readonly Uint8Array[];
  readonly message: Uint8Array;
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
