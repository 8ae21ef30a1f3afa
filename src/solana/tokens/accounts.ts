import { viewOf } from '../../internal/bytes.js';
import { setNewest } from '../../internal/newest.js';
import { sha256 } from '../../internal/sha2.js';
import { isTokenProgram } from '../../network.js';
import { ASSOCIATED_TOKEN_PROGRAM } from '../programs.js';
import { addressBytes, addressOf } from '../address.js';
import { isOnCurve } from '../curve.js';
import type { Account } from '../rpc/rpc.js';
import type { Address } from '../types.js';

/** A wallet has about ten token accounts, and a service has many wallets. */
const CACHE_ENTRIES = 4096;
const derived = new Map<string, Address>();

/**
 * Derives the associated token account. The owner may be off the curve, such as a program's vault.
 */
export function associatedTokenAddress(
  owner: Address,
  mint: Address,
  tokenProgram: Address,
): Address {
  const name = `${owner} ${mint} ${tokenProgram}`;
  // Deriving takes a quarter of a millisecond or more. Re-inserting keeps recently used accounts.
  const account = derived.get(name) ?? derive(owner, mint, tokenProgram);
  return setNewest(derived, name, account, CACHE_ENTRIES);
}

function derive(owner: Address, mint: Address, tokenProgram: Address): Address {
  const seeds = [addressBytes(owner), addressBytes(tokenProgram), addressBytes(mint)];
  return programAddress(seeds, ASSOCIATED_TOKEN_PROGRAM).address;
}

const PROGRAM_ADDRESS = new TextEncoder().encode('ProgramDerivedAddress');

/**
 * Finds the first program derived address for these seeds, each of at most 32 bytes, and its bump.
 * The bump moves the address off the curve, so that no wallet has a key for it.
 */
export function programAddress(
  seeds: readonly Uint8Array[],
  program: Address,
): { readonly address: Address; readonly bump: number } {
  const end = [...addressBytes(program), ...PROGRAM_ADDRESS];
  const begin = seeds.flatMap((seed) => [...seed]);
  for (let bump = 255; bump >= 0; bump -= 1) {
    const hash = sha256(Uint8Array.from([...begin, bump, ...end]));
    if (!isOnCurve(hash)) return { address: addressOf(hash), bump };
  }
  throw new TypeError('No address of this program has these seeds.');
}

/** The fields of a mint, without its extensions. */
export interface PlainMint {
  readonly tokenProgram: Address;
  readonly decimals: number;
}

/** The fields of a token account, without its extensions, delegate and close authority. */
export interface PlainAccount {
  readonly tokenProgram: Address;
  readonly mint: Address;
  readonly owner: Address;
  readonly amount: bigint;
  readonly state: 'initialized' | 'frozen';
}

export const MINT_BYTES = 82;
export const ACCOUNT_BYTES = 165;

/**
 * Decodes an initialised mint without extensions; undefined otherwise. `decode.ts` reads the rest.
 */
export function plainMint(account: Account): PlainMint | undefined {
  return isPlain(account, MINT_BYTES) ? mintIn(account) : undefined;
}

/** Decodes an initialised token account without extensions; undefined otherwise. */
export function plainAccount(account: Account): PlainAccount | undefined {
  return isPlain(account, ACCOUNT_BYTES) ? accountIn(account) : undefined;
}

function isPlain({ data, owner }: Account, bytes: number): boolean {
  return data.length === bytes && isTokenProgram(owner);
}

/** Decodes the part of a mint before its extensions; undefined if it is not initialised. */
export function mintIn({ data, owner }: Account): PlainMint | undefined {
  const view = viewOf(data);
  if (!isOption(view, 0) || data[45] !== 1 || !isOption(view, 46)) return undefined;
  return { tokenProgram: owner, decimals: view.getUint8(44) };
}

const STATES: Readonly<Record<number, PlainAccount['state']>> = { 1: 'initialized', 2: 'frozen' };

/** Decodes the part of a token account before its extensions; undefined if not initialised. */
export function accountIn({ data, owner }: Account): PlainAccount | undefined {
  const view = viewOf(data);
  const state = STATES[view.getUint8(108)];
  if (state === undefined || !isOption(view, 72) || !isOption(view, 109) || !isOption(view, 129))
    return undefined;
  return {
    tokenProgram: owner,
    mint: keyAt(data, 0),
    owner: keyAt(data, 32),
    amount: view.getBigUint64(64, true),
    state,
  };
}

/** Whether the tag of an optional field is valid: four bytes of 0 or 1, before the value. */
function isOption(view: DataView, offset: number): boolean {
  return view.getUint32(offset, true) <= 1;
}

export function keyAt(data: Uint8Array, offset: number): Address {
  return addressOf(data.subarray(offset, offset + 32));
}
