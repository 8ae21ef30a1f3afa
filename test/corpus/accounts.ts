import { getAddressEncoder, type Address } from '@solana/kit';
import { PROGRAMS } from './addresses.js';

/** An account on the chain. */
export interface ChainAccount {
  readonly owner: Address;
  readonly lamports: bigint;
  readonly data: Uint8Array;
  readonly executable: boolean;
}

/** Accounts of a chain by address; null hides an account of {@link WORLD}. */
export type Accounts = ReadonlyMap<Address, ChainAccount | null>;

const TOKEN_ACCOUNT_BYTES = 165;
const TABLE_HEADER_BYTES = 56;
const NEVER = 2n ** 64n - 1n;

export function keyBytes(key: Address): Uint8Array {
  return new Uint8Array(getAddressEncoder().encode(key));
}

export function u16(value: number): Uint8Array {
  return Uint8Array.of(value & 0xff, value >> 8);
}

export function u32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
}

export function u64(value: bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value, true);
  return bytes;
}

export function concat(...parts: readonly ArrayLike<number>[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => Array.from(part)));
}

/** Returns zeros with parts written over them. */
function laidOut(
  size: number,
  ...parts: readonly (readonly [offset: number, bytes: ArrayLike<number>])[]
): Uint8Array {
  const bytes = new Uint8Array(size);
  for (const [offset, part] of parts) bytes.set(part, offset);
  return bytes;
}

export function account(
  owner: Address,
  data: Uint8Array = new Uint8Array(),
  lamports = 2_039_280n,
): ChainAccount {
  return { owner, lamports, data, executable: false };
}

export function program(): ChainAccount {
  return {
    owner: PROGRAMS.upgradeableLoader,
    lamports: 1_141_440n,
    data: laidOut(36, [0, u32(2)]),
    executable: true,
  };
}

export interface TokenAccount {
  readonly mint: Address;
  readonly owner: Address;
  readonly amount: bigint;
  readonly delegate?: Address;
  readonly closeAuthority?: Address;
  readonly frozen?: boolean;
  /** Token-2022 alone: a transfer to the account needs a memo right before it. */
  readonly needsMemo?: boolean;
  /** Token-2022 alone: the account takes confidential transfers alone. */
  readonly isConfidential?: boolean;
}

export function tokenAccount(programAddress: Address, held: TokenAccount): ChainAccount {
  const { mint, owner, amount, delegate, closeAuthority } = held;
  const base = laidOut(
    TOKEN_ACCOUNT_BYTES,
    [0, keyBytes(mint)],
    [32, keyBytes(owner)],
    [64, u64(amount)],
    [108, [held.frozen === true ? 2 : 1]],
    ...(delegate === undefined
      ? []
      : ([
          [72, u32(1)],
          [76, keyBytes(delegate)],
          [121, u64(amount)],
        ] as const)),
    ...(closeAuthority === undefined
      ? []
      : ([
          [129, u32(1)],
          [133, keyBytes(closeAuthority)],
        ] as const)),
  );
  // Token-2022: the kind of account (2), then the extensions ImmutableOwner (7), which is empty,
  // MemoTransfer (8), and ConfidentialTransferAccount (5), which allows no plain transfer.
  const memo = held.needsMemo === true ? concat(u16(8), u16(1), [1]) : [];
  const confidential =
    held.isConfidential === true ? concat(u16(5), u16(295), new Uint8Array(295)) : [];
  const extended =
    programAddress === PROGRAMS.token2022
      ? concat(base, [2], u16(7), u16(0), memo, confidential)
      : base;
  return account(programAddress, extended);
}

export function mint(programAddress: Address, decimals: number, authority?: Address): ChainAccount {
  const base = laidOut(
    82,
    ...(authority === undefined
      ? []
      : ([
          [0, u32(1)],
          [4, keyBytes(authority)],
        ] as const)),
    [44, [decimals, 1]],
  );
  // Token-2022: the kind of account (1), then the extension MintCloseAuthority (3) without a key.
  const extended =
    programAddress === PROGRAMS.token2022
      ? concat(laidOut(165, [0, base]), [1], u16(3), u16(32), new Uint8Array(32))
      : base;
  return account(programAddress, extended);
}

/** Makes a multisig of a token program with a single signer. */
export function multisig(programAddress: Address, signer: Address): ChainAccount {
  return account(programAddress, laidOut(355, [0, [1, 1, 1]], [3, keyBytes(signer)]));
}

export interface Table {
  readonly addresses: readonly Address[];
  readonly owner?: Address;
  readonly authority?: Address;
  /** 1 for a table, 0 for a table that was never initialized. */
  readonly state?: number;
  readonly deactivationSlot?: bigint;
  readonly lastExtendedSlot?: bigint;
  /** Index of the first entry that was added in the last extended slot. */
  readonly startIndex?: number;
}

export function table(options: Table): ChainAccount {
  const { addresses, owner = PROGRAMS.lookupTable, authority, state = 1 } = options;
  const header = laidOut(
    TABLE_HEADER_BYTES,
    [0, u32(state)],
    [4, u64(options.deactivationSlot ?? NEVER)],
    [12, u64(options.lastExtendedSlot ?? 1n)],
    [20, [options.startIndex ?? 0]],
    ...(authority === undefined
      ? []
      : ([
          [21, [1]],
          [22, keyBytes(authority)],
        ] as const)),
  );
  return account(owner, concat(header, ...addresses.map(keyBytes)));
}

export function nonceAccount(authority: Address, nonce: Address): ChainAccount {
  return account(
    PROGRAMS.system,
    laidOut(
      80,
      [0, u32(1)],
      [4, u32(1)],
      [8, keyBytes(authority)],
      [40, keyBytes(nonce)],
      [72, u64(5_000n)],
    ),
  );
}

export function stakeAccount(staker: Address, withdrawer: Address): ChainAccount {
  return account(
    PROGRAMS.stake,
    laidOut(200, [0, u32(2)], [12, keyBytes(staker)], [44, keyBytes(withdrawer)]),
    5_000_000_000n,
  );
}

export function voteAccount(withdrawer: Address): ChainAccount {
  return account(
    PROGRAMS.vote,
    laidOut(3762, [0, u32(2)], [36, keyBytes(withdrawer)]),
    27_000_000n,
  );
}

export function programData(authority: Address): ChainAccount {
  return account(
    PROGRAMS.upgradeableLoader,
    laidOut(128, [0, u32(3)], [12, [1]], [13, keyBytes(authority)]),
    1_000_000_000n,
  );
}

/** Makes a buffer account with a program that is not deployed yet. */
export function programBuffer(authority: Address): ChainAccount {
  return account(
    PROGRAMS.upgradeableLoader,
    laidOut(128, [0, u32(1)], [4, [1]], [5, keyBytes(authority)]),
    1_000_000_000n,
  );
}

export function loaderV4Program(authority: Address): ChainAccount {
  return account(
    PROGRAMS.loaderV4,
    laidOut(128, [8, keyBytes(authority)], [40, u64(1n)]),
    1_000_000_000n,
  );
}
