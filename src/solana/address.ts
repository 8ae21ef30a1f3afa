import { base58 } from '../internal/bytes.js';
import {
  ASSOCIATED_TOKEN_PROGRAM,
  COMPUTE_BUDGET_PROGRAM,
  JUPITER_EVENT_AUTHORITY,
  JUPITER_PROGRAM,
  LOOKUP_TABLE_PROGRAM,
  MEMO_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '../network.js';
import type { Address } from './types.js';

const KEY_BYTES = 32;
// 32 bytes are 32 (all zero) to 44 base58 digits. The shape is checked before decoding, because
// the time to decode grows with the square of the length.
const SHAPE = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

/** Known addresses with their bytes, because each step reads the same few addresses. */
const known = new Map<Address, Uint8Array>();
const MAX_KNOWN = 1_000;

/** Whether a value is the canonical base58 form of 32 bytes. */
export function isAddress(value: unknown): value is Address {
  if (typeof value !== 'string' || !SHAPE.test(value)) return false;
  if (known.has(value)) return true;
  const bytes = base58.decode(value);
  const spelling = base58.encode(bytes);
  if (bytes.length !== KEY_BYTES || spelling !== value) return false;
  if (known.size >= MAX_KNOWN) known.clear();
  // Not `value` itself: it may be a slice, which would keep the whole text in memory.
  known.set(spelling, bytes);
  return true;
}

/**
 * Returns the 32 bytes of an address. Throws a TypeError on anything else, so check with
 * {@link isAddress} first.
 */
export function addressBytes(address: Address): Uint8Array {
  return knownBytes(address).slice();
}

/** Returns the bytes of the addresses, joined in order. Throws as {@link addressBytes} does. */
export function addressesBytes(addresses: readonly Address[]): Uint8Array {
  const bytes = new Uint8Array(KEY_BYTES * addresses.length);
  addresses.forEach((address, at) => bytes.set(knownBytes(address), KEY_BYTES * at));
  return bytes;
}

/** Returns the cached bytes themselves: do not write to them. */
function knownBytes(address: Address): Uint8Array {
  if (!isAddress(address)) throw new TypeError('Not a Solana address.');
  return known.get(address) ?? base58.decode(address);
}

export function addressOf(bytes: Uint8Array): Address {
  if (bytes.length !== KEY_BYTES)
    throw new TypeError(`A Solana address is ${KEY_BYTES} bytes, not ${bytes.length}.`);
  return base58.encode(bytes);
}

export const reservedAddresses: ReadonlySet<Address> = new Set([
  // The System program's address is 32 zero bytes, the key of no wallet.
  SYSTEM_PROGRAM,
  TOKEN_PROGRAM,
  TOKEN_2022_PROGRAM,
  ASSOCIATED_TOKEN_PROGRAM,
  COMPUTE_BUDGET_PROGRAM,
  MEMO_PROGRAM,
  LOOKUP_TABLE_PROGRAM,
  JUPITER_PROGRAM,
  JUPITER_EVENT_AUTHORITY,
  'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo',
  'Stake11111111111111111111111111111111111111',
  'StakeConfig11111111111111111111111111111111',
  'Vote111111111111111111111111111111111111111',
  'Config1111111111111111111111111111111111111',
  'Ed25519SigVerify111111111111111111111111111',
  'KeccakSecp256k11111111111111111111111111111',
  'Secp256r1SigVerify1111111111111111111111111',
  'NativeLoader1111111111111111111111111111111',
  'BPFLoader1111111111111111111111111111111111',
  'BPFLoader2111111111111111111111111111111111',
  'BPFLoaderUpgradeab1e11111111111111111111111',
  'LoaderV411111111111111111111111111111111111',
  'Sysvar1111111111111111111111111111111111111',
  'SysvarC1ock11111111111111111111111111111111',
  'SysvarEpochRewards1111111111111111111111111',
  'SysvarEpochSchedu1e111111111111111111111111',
  'SysvarFees111111111111111111111111111111111',
  'Sysvar1nstructions1111111111111111111111111',
  'SysvarLastRestartS1ot1111111111111111111111',
  'SysvarRecentB1ockHashes11111111111111111111',
  'SysvarRent111111111111111111111111111111111',
  'SysvarRewards111111111111111111111111111111',
  'SysvarS1otHashes111111111111111111111111111',
  'SysvarS1otHistory11111111111111111111111111',
  'SysvarStakeHistory1111111111111111111111111',
  // The incinerator destroys everything that is sent to it.
  '1nc1nerator11111111111111111111111111111111',
]);

/** Whether an address is a program, sysvar or incinerator: never a payee, fee payer or wallet. */
export function isReservedAddress(address: Address): boolean {
  return reservedAddresses.has(address);
}
