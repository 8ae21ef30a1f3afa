import { sha256 } from '../../internal/sha2.js';
import { ASSOCIATED_TOKEN_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../network.js';
import { addressBytes, addressOf } from '../address.js';
import { isOnCurve } from '../curve.js';
import type { Account } from '../rpc/rpc.js';
import type { Address } from '../types.js';
import { extensionName, mintFacts, readExtensions } from './extensions.js';
import type { MintFacts } from './extensions.js';

/** A mint as it lies on the chain, with what its extensions let others do to a payment. */
export interface Mint extends MintFacts {
  readonly tokenProgram: Address;
  readonly decimals: number;
  readonly supply: bigint;
  /** Names in the order found; one we do not know is `unknown:<type>`. */
  readonly extensions: readonly string[];
}

/** A token account as it lies on the chain. */
export interface TokenAccount {
  readonly tokenProgram: Address;
  readonly mint: Address;
  readonly owner: Address;
  readonly amount: bigint;
  readonly delegate?: Address;
  readonly delegatedAmount: bigint;
  readonly closeAuthority?: Address;
  readonly state: 'initialized' | 'frozen';
  /** Holds wrapped SOL. */
  readonly isNative: boolean;
  readonly extensions: readonly string[];
  /** A transfer to it fails unless a memo comes right before. */
  readonly requiresMemo: boolean;
}

const MINT_BYTES = 82;
const ACCOUNT_BYTES = 165;
/**
 * Token-2022 tells its multisigs by their length alone, and pads other accounts that would have it.
 */
const MULTISIG_BYTES = 355;
/** Where Token-2022 says which kind of account the extensions belong to. */
const KIND_AT = ACCOUNT_BYTES;
const MINT_KIND = 1;
const ACCOUNT_KIND = 2;

/** Where a wrapped SOL account says which of its lamports are rent. */
const RENT_AT = 113;

/** A wallet has some ten, and a service many wallets. */
const CACHE_ENTRIES = 4096;
const derived = new Map<string, Address>();

/**
 * Derives the associated token account. An owner off the curve, such as a program's vault, is fine.
 */
export function associatedTokenAddress(
  owner: Address,
  mint: Address,
  tokenProgram: Address,
): Address {
  const name = `${owner} ${mint} ${tokenProgram}`;
  const known = derived.get(name);
  const account = known ?? derive(owner, mint, tokenProgram);
  // Deriving takes a quarter of a millisecond or more. Re-inserting keeps the recently used ones.
  if (known !== undefined) derived.delete(name);
  derived.set(name, account);
  const { value: oldest } = derived.keys().next();
  if (derived.size > CACHE_ENTRIES && oldest !== undefined) derived.delete(oldest);
  return account;
}

function derive(owner: Address, mint: Address, tokenProgram: Address): Address {
  const seeds = [addressBytes(owner), addressBytes(tokenProgram), addressBytes(mint)];
  return programAddress(seeds, ASSOCIATED_TOKEN_PROGRAM).address;
}

const PROGRAM_ADDRESS = new TextEncoder().encode('ProgramDerivedAddress');

/**
 * The first address that a program can have for these seeds, each of 32 bytes at most, and the
 * number that makes it one: no key of a wallet hashes to it.
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

/** Decodes an initialised mint of either token program; undefined for anything else. */
export function decodeMint(account: Account): Mint | undefined {
  const { data, owner } = account;
  const extensions = extensionsOf(account, MINT_BYTES, MINT_KIND);
  if (extensions === undefined) return undefined;
  const view = viewOf(data);
  if (!isOption(view, 0) || data[45] !== 1 || !isOption(view, 46)) return undefined;
  const facts = mintFacts(extensions);
  if (facts === undefined) return undefined;
  return {
    tokenProgram: owner,
    decimals: view.getUint8(44),
    supply: view.getBigUint64(36, true),
    extensions: extensions.map((one) => extensionName(one.type)),
    ...facts,
  };
}

/** Decodes an initialised token account of either token program; undefined for anything else. */
export function decodeTokenAccount(account: Account): TokenAccount | undefined {
  const { data, owner } = account;
  const extensions = extensionsOf(account, ACCOUNT_BYTES, ACCOUNT_KIND);
  if (extensions === undefined) return undefined;
  const view = viewOf(data);
  const state = STATES[view.getUint8(108)];
  if (state === undefined || !isOption(view, 72) || !isOption(view, 109) || !isOption(view, 129))
    return undefined;
  const names = extensions.map((one) => extensionName(one.type));
  return {
    tokenProgram: owner,
    mint: keyAt(data, 0),
    owner: keyAt(data, 32),
    amount: view.getBigUint64(64, true),
    ...(view.getUint32(72, true) === 1 ? { delegate: keyAt(data, 76) } : {}),
    delegatedAmount: view.getBigUint64(121, true),
    ...(view.getUint32(129, true) === 1 ? { closeAuthority: keyAt(data, 133) } : {}),
    state,
    isNative: view.getUint32(109, true) === 1,
    extensions: names,
    requiresMemo: extensions.some(
      (one) => extensionName(one.type) === 'memoTransfer' && one.value[0] !== 0,
    ),
  };
}

/**
 * Lamports that a wrapped SOL account holds beyond its rent and its amount. Any wallet may send
 * them, and any may have them counted: then they are wrapped SOL like the rest.
 */
export function uncountedLamports(
  { data, lamports }: Account,
  { isNative, amount }: TokenAccount,
): bigint {
  if (!isNative) return 0n;
  const counted = viewOf(data).getBigUint64(RENT_AT, true) + amount;
  return lamports > counted ? lamports - counted : 0n;
}

const STATES: Readonly<Record<number, TokenAccount['state']>> = { 1: 'initialized', 2: 'frozen' };

/**
 * The extensions of an account of the right program, length and kind; an account of the classic
 * program has none.
 */
function extensionsOf({ data, owner }: Account, baseBytes: number, kind: number) {
  if (owner === TOKEN_PROGRAM) return data.length === baseBytes ? [] : undefined;
  if (owner !== TOKEN_2022_PROGRAM) return undefined;
  if (data.length === baseBytes) return [];
  if (data.length <= KIND_AT || data.length === MULTISIG_BYTES || data[KIND_AT] !== kind)
    return undefined;
  // A mint is padded with zeros to the length of an account, so that the kind is at one place for
  // both.
  if (data.subarray(baseBytes, KIND_AT).some((byte) => byte !== 0)) return undefined;
  return readExtensions(data.subarray(KIND_AT + 1));
}

/** An optional field is four bytes of 0 or 1, and then the value. */
function isOption(view: DataView, offset: number): boolean {
  return view.getUint32(offset, true) <= 1;
}

function keyAt(data: Uint8Array, offset: number): Address {
  return addressOf(data.subarray(offset, offset + 32));
}

function viewOf(data: Uint8Array): DataView {
  return new DataView(data.buffer, data.byteOffset, data.byteLength);
}
