import { getProgramDerivedAddress } from '@solana/kit';
import type { Address } from '@solana/kit';
import { createMemory } from '../memory.js';
import { ASSOCIATED_TOKEN_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../mints.js';
import type { ChainAccount } from '../types.js';
import { addressOf, keyBytes, view } from './bytes.js';

const MINT_SIZE = 82;
const ACCOUNT_SIZE = 165;
export const TOKEN_OWNER_OFFSET = 32;
// Token-2022 pads a mint to the size of a token account. Then come a byte for the kind (mint or
// account) and the extensions.
const KIND_OFFSET = ACCOUNT_SIZE;
const KIND_MINT = 1;
const KIND_ACCOUNT = 2;
const EXTENSION = {
  transferFeeConfig: 1,
  transferFeeAmount: 2,
  immutableOwner: 7,
  transferHook: 14,
  transferHookAccount: 15,
};

export interface TokenState {
  readonly mint: Address;
  readonly owner: Address;
  readonly amount: bigint;
  readonly delegate: { readonly address: Address; readonly amount: bigint } | undefined;
  readonly frozen: boolean;
  /** Rent-exempt reserve of a wrapped SOL account, undefined for other mints. */
  readonly nativeReserve: bigint | undefined;
  readonly closeAuthority: Address | undefined;
}

export interface MintState {
  readonly supply: bigint;
  readonly decimals: number;
  readonly mintAuthority: Address | undefined;
  readonly freezeAuthority: Address | undefined;
}

export const isTokenProgram = (program: string): boolean =>
  program === TOKEN_PROGRAM || program === TOKEN_2022_PROGRAM;

const accounts = createMemory<Promise<Address>>();

export function associatedTokenAccount(
  owner: Address,
  mint: Address,
  tokenProgram: Address,
): Promise<Address> {
  const derive = async () => {
    const seeds = [keyBytes(owner), keyBytes(tokenProgram), keyBytes(mint)];
    const programAddress = ASSOCIATED_TOKEN_PROGRAM;
    return (await getProgramDerivedAddress({ programAddress, seeds }))[0];
  };
  return accounts(`${owner} ${mint} ${tokenProgram}`, derive);
}

/** Reads an initialized token account of either program; returns undefined for other accounts. */
export function readToken(account: ChainAccount | undefined): TokenState | undefined {
  if (
    !account ||
    !isTokenProgram(account.owner) ||
    !isKind(account.data, ACCOUNT_SIZE, KIND_ACCOUNT)
  )
    return undefined;
  const { data } = account;
  const numbers = view(data);
  const state = data[108];
  if (state !== 1 && state !== 2) return undefined;
  const delegate = optionalKey(data, 72);
  return {
    mint: addressOf(data.slice(0, 32)),
    owner: addressOf(data.slice(TOKEN_OWNER_OFFSET, TOKEN_OWNER_OFFSET + 32)),
    amount: numbers.getBigUint64(64, true),
    delegate: delegate && { address: delegate, amount: numbers.getBigUint64(121, true) },
    frozen: state === 2,
    nativeReserve: numbers.getUint32(109, true) === 1 ? numbers.getBigUint64(113, true) : undefined,
    closeAuthority: optionalKey(data, 129),
  };
}

/** Returns true if a mint has extensions, like PYUSD. */
export const isExtended = (mint: ChainAccount | undefined): boolean =>
  (mint?.data.length ?? 0) > MINT_SIZE;

/** Reads an initialized mint of either program; returns undefined for other accounts. */
export function readMint(account: ChainAccount | undefined): MintState | undefined {
  if (
    !account ||
    !isTokenProgram(account.owner) ||
    !isKind(account.data, MINT_SIZE, KIND_MINT) ||
    account.data[45] !== 1
  )
    return undefined;
  const { data } = account;
  return {
    mintAuthority: optionalKey(data, 0),
    supply: view(data).getBigUint64(36, true),
    decimals: data[44] ?? 0,
    freezeAuthority: optionalKey(data, 46),
  };
}

function isKind(data: Uint8Array, size: number, kind: number): boolean {
  return data.length === size || (data.length > KIND_OFFSET && data[KIND_OFFSET] === kind);
}

function optionalKey(data: Uint8Array, offset: number): Address | undefined {
  return view(data).getUint32(offset, true) === 1
    ? addressOf(data.slice(offset + 4, offset + 36))
    : undefined;
}

/**
 * Encodes a mint. With `asPyusd`, it has a transfer fee of zero and no transfer hook as extensions;
 * its accounts then have 187 bytes, like those of PYUSD.
 */
export function mintData(decimals: number, authority: Address, asPyusd: boolean): Uint8Array {
  const base = new Uint8Array(MINT_SIZE);
  const key = keyBytes(authority);
  base.set([1], 0);
  base.set(key, 4);
  base.set([decimals, 1, 1], 44);
  base.set(key, 50);
  if (!asPyusd) return base;
  return extended(base, KIND_MINT, [
    [EXTENSION.transferFeeConfig, 108],
    [EXTENSION.transferHook, 64],
  ]);
}

export interface NewToken {
  readonly tokenProgram: Address;
  readonly mint: Address;
  readonly owner: Address;
  readonly amount: bigint;
  readonly nativeReserve?: bigint | undefined;
  /** True if the mint has PYUSD's extensions. */
  readonly asPyusd?: boolean;
}

/** Encodes a token account as the associated token program creates it. */
export function tokenData({
  tokenProgram,
  mint,
  owner,
  amount,
  nativeReserve,
  asPyusd = false,
}: NewToken): Uint8Array {
  const base = new Uint8Array(ACCOUNT_SIZE);
  const numbers = view(base);
  base.set(keyBytes(mint), 0);
  base.set(keyBytes(owner), TOKEN_OWNER_OFFSET);
  numbers.setBigUint64(64, amount, true);
  base[108] = 1;
  if (nativeReserve !== undefined) {
    numbers.setUint32(109, 1, true);
    numbers.setBigUint64(113, nativeReserve, true);
  }
  if (tokenProgram !== TOKEN_2022_PROGRAM) return base;
  const ofMint = [
    [EXTENSION.transferFeeAmount, 8],
    [EXTENSION.transferHookAccount, 1],
  ] as const;
  return extended(base, KIND_ACCOUNT, [[EXTENSION.immutableOwner, 0], ...(asPyusd ? ofMint : [])]);
}

/**
 * Returns a copy of account data with another u64. A token account has its amount at offset 64; a
 * mint has its supply at 36.
 */
export function withU64(data: Uint8Array, offset: number, value: bigint): Uint8Array {
  const copy = data.slice();
  view(copy).setBigUint64(offset, value, true);
  return copy;
}

function extended(
  base: Uint8Array,
  kind: number,
  extensions: readonly (readonly [type: number, size: number])[],
): Uint8Array {
  const size = extensions.reduce((sum, [, length]) => sum + 4 + length, KIND_OFFSET + 1);
  const data = new Uint8Array(size);
  data.set(base);
  data[KIND_OFFSET] = kind;
  let offset = KIND_OFFSET + 1;
  for (const [type, length] of extensions) {
    view(data).setUint16(offset, type, true);
    view(data).setUint16(offset + 2, length, true);
    offset += 4 + length;
  }
  return data;
}
