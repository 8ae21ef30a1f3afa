import type { Address } from '@solana/kit';
import {
  account,
  concat,
  keyBytes,
  loaderV4Program,
  mint,
  multisig,
  nonceAccount,
  program,
  programBuffer,
  programData,
  stakeAccount,
  table,
  tokenAccount,
  voteAccount,
  type Accounts,
  type ChainAccount,
} from './accounts.js';
import {
  ATTACKER,
  FAKE_MINTS,
  MINTS,
  PROGRAMS,
  SHARED_AUTHORITY,
  WALLET,
  own,
  someKey,
  theirs,
  tokenProgramOf,
} from './addresses.js';

/** Current slot of the chain. */
export const SLOT = 350_000_000n;

/** Accounts of a pool for each kind of venue. */
export const POOLS = {
  raydium: {
    amm: someKey(20),
    authority: someKey(22),
    openOrders: someKey(24),
    vaultIn: someKey(26),
    vaultOut: someKey(28),
  },
  whirlpool: {
    pool: someKey(30),
    oracle: someKey(32),
    ticks: [someKey(34), someKey(36), someKey(38)],
    vaultIn: someKey(40),
    vaultOut: someKey(42),
  },
  /** Vaults of Jupiter for shared-accounts swaps. */
  shared: { vaultIn: someKey(44), vaultOut: someKey(46) },
} as const;

/** Accounts that the wallet controls, or that name it, and that do not belong in a swap. */
export const EXPOSED = {
  stake: someKey(160),
  stakeWithdrawn: someKey(162),
  nonce: someKey(164),
  table: someKey(166),
  programData: someKey(168),
  programBuffer: someKey(170),
  loaderV4: someKey(172),
  vote: someKey(174),
  /** A token account of the wallet that is not its associated account. */
  auxiliary: someKey(176),
  auxiliary2022: someKey(178),
  /** A token account of another wallet, with the wallet as delegate. */
  delegated: someKey(180),
  closable: someKey(182),
  mint: someKey(184),
  mint2022: someKey(186),
  multisig: someKey(188),
  multisig2022: someKey(190),
  /** A token account of {@link EXPOSED.multisig}; the wallet's signature can spend from it. */
  ofMultisig: someKey(196),
  ofMultisig2022: someKey(198),
  /** An account of an unknown program, such as a loan, an asset or an order. */
  loan: someKey(142),
  /** Trees of compressed assets: they name the owners of their leaves only by hash. */
  tree: someKey(146),
  treeOfMetaplex: someKey(148),
  treeOfLight: someKey(158),
} as const;

/** Value of {@link EXPOSED.nonce}: a blockhash that never expires. */
export const NONCE_VALUE = someKey(192);

export const TABLES = {
  venues: someKey(100),
  common: someKey(102),
  /** Untrustworthy lookup tables, each for another reason. */
  missing: someKey(104),
  foreignOwner: someKey(106),
  systemOwner: someKey(108),
  uninitialized: someKey(110),
  raggedEnd: someKey(112),
  shortHeader: someKey(114),
  deactivated: someKey(116),
  deactivating: someKey(118),
  extendedNow: someKey(120),
  createdNow: someKey(122),
  shrunk: someKey(124),
  empty: someKey(126),
  /** A valid table of the attacker, with accounts that it wants to reach. */
  attackers: someKey(128),
  /** Six tables with a single account each. */
  single: [someKey(130), someKey(132), someKey(134), someKey(136), someKey(138), someKey(140)],
} as const;

/** Accounts that only {@link TABLES} name. */
export const FILLERS: readonly Address[] = Array.from({ length: 8 }, (_, index) =>
  someKey(200 + index, 7),
);

/** Entries of the valid lookup tables. */
export const TABLE_ENTRIES = {
  venues: [
    ...Object.values(POOLS.raydium),
    ...[
      POOLS.whirlpool.pool,
      POOLS.whirlpool.oracle,
      ...POOLS.whirlpool.ticks,
      POOLS.whirlpool.vaultIn,
      POOLS.whirlpool.vaultOut,
    ],
  ],
  common: [
    ...Object.values(MINTS),
    PROGRAMS.token,
    PROGRAMS.token2022,
    PROGRAMS.raydium,
    PROGRAMS.whirlpool,
    ...Object.values(POOLS.shared),
  ],
  attackers: [
    theirs(MINTS.usdt),
    theirs(MINTS.usdc),
    own(MINTS.bonk),
    ATTACKER,
    WALLET,
    EXPOSED.stake,
    ...FILLERS,
  ],
} as const;

/** Index of the first {@link FILLERS} in the attacker's table. */
export const FILLED = TABLE_ENTRIES.attackers.length - FILLERS.length;

const held = (mintAddress: Address, owner: Address, amount: bigint): ChainAccount =>
  tokenAccount(tokenProgramOf(mintAddress), { mint: mintAddress, owner, amount });

const tokens = (
  owner: Address,
  amount: bigint,
  of: (mintAddress: Address) => Address,
): [Address, ChainAccount][] =>
  [MINTS.usdc, MINTS.usdt, MINTS.pyusd, MINTS.bonk].map((one) => [
    of(one),
    held(one, owner, amount),
  ]);

function whollyAt(address: Address, size: number): ChainAccount {
  const { data, ...rest } = table({ addresses: FILLERS, authority: ATTACKER });
  return {
    ...rest,
    data:
      address === TABLES.raggedEnd
        ? Uint8Array.from([...data, ...data.slice(0, size)])
        : data.slice(0, size),
  };
}

const tables: readonly [Address, ChainAccount][] = [
  [TABLES.venues, table({ addresses: TABLE_ENTRIES.venues })],
  [TABLES.common, table({ addresses: TABLE_ENTRIES.common })],
  [TABLES.attackers, table({ addresses: TABLE_ENTRIES.attackers, authority: ATTACKER })],
  [TABLES.foreignOwner, table({ addresses: FILLERS, owner: someKey(240) })],
  [TABLES.systemOwner, table({ addresses: FILLERS, owner: PROGRAMS.system })],
  [TABLES.uninitialized, table({ addresses: FILLERS, state: 0 })],
  [TABLES.raggedEnd, whollyAt(TABLES.raggedEnd, 7)],
  [TABLES.shortHeader, whollyAt(TABLES.shortHeader, 55)],
  [TABLES.deactivated, table({ addresses: FILLERS, deactivationSlot: SLOT - 1_000n })],
  [TABLES.deactivating, table({ addresses: FILLERS, deactivationSlot: SLOT })],
  [TABLES.extendedNow, table({ addresses: FILLERS, lastExtendedSlot: SLOT, startIndex: 4 })],
  [TABLES.createdNow, table({ addresses: FILLERS, lastExtendedSlot: SLOT, startIndex: 0 })],
  [TABLES.shrunk, table({ addresses: FILLERS.slice(0, 2) })],
  [TABLES.empty, table({ addresses: [] })],
  ...TABLES.single.map((one, index): [Address, ChainAccount] => [
    one,
    table({ addresses: FILLERS.slice(index, index + 1) }),
  ]),
];

const pools: readonly [Address, ChainAccount][] = [
  ...[POOLS.raydium.vaultIn, POOLS.raydium.vaultOut].map((one): [Address, ChainAccount] => [
    one,
    held(MINTS.usdc, POOLS.raydium.authority, 10n ** 12n),
  ]),
  ...[POOLS.whirlpool.vaultIn, POOLS.whirlpool.vaultOut].map((one): [Address, ChainAccount] => [
    one,
    held(MINTS.usdc, POOLS.whirlpool.pool, 10n ** 12n),
  ]),
  ...[POOLS.shared.vaultIn, POOLS.shared.vaultOut].map((one): [Address, ChainAccount] => [
    one,
    held(MINTS.usdc, SHARED_AUTHORITY, 10n ** 12n),
  ]),
  [POOLS.raydium.amm, account(PROGRAMS.raydium, new Uint8Array(752).fill(3))],
  [POOLS.raydium.openOrders, account(PROGRAMS.raydium, new Uint8Array(388).fill(4))],
  [POOLS.whirlpool.pool, account(PROGRAMS.whirlpool, new Uint8Array(653).fill(5))],
  [POOLS.whirlpool.oracle, account(PROGRAMS.whirlpool, new Uint8Array(254).fill(6))],
  ...POOLS.whirlpool.ticks.map((one): [Address, ChainAccount] => [
    one,
    account(PROGRAMS.whirlpool, new Uint8Array(988).fill(8)),
  ]),
];

const exposed: readonly [Address, ChainAccount][] = [
  [EXPOSED.stake, stakeAccount(WALLET, WALLET)],
  [EXPOSED.stakeWithdrawn, stakeAccount(ATTACKER, WALLET)],
  [EXPOSED.nonce, nonceAccount(WALLET, NONCE_VALUE)],
  [EXPOSED.table, table({ addresses: FILLERS, authority: WALLET })],
  [EXPOSED.programData, programData(WALLET)],
  [EXPOSED.programBuffer, programBuffer(WALLET)],
  [EXPOSED.loaderV4, loaderV4Program(WALLET)],
  [EXPOSED.vote, voteAccount(WALLET)],
  [EXPOSED.auxiliary, held(MINTS.usdc, WALLET, 5_000_000n)],
  [EXPOSED.auxiliary2022, held(MINTS.pyusd, WALLET, 5_000_000n)],
  [
    EXPOSED.delegated,
    tokenAccount(PROGRAMS.token, {
      mint: MINTS.usdc,
      owner: someKey(194),
      amount: 9_000_000n,
      delegate: WALLET,
    }),
  ],
  [
    EXPOSED.closable,
    tokenAccount(PROGRAMS.token, {
      mint: MINTS.usdc,
      owner: someKey(194),
      amount: 0n,
      closeAuthority: WALLET,
    }),
  ],
  [EXPOSED.mint, mint(PROGRAMS.token, 6, WALLET)],
  [EXPOSED.mint2022, mint(PROGRAMS.token2022, 6, WALLET)],
  [EXPOSED.multisig, multisig(PROGRAMS.token, WALLET)],
  [EXPOSED.ofMultisig, held(MINTS.usdc, EXPOSED.multisig, 7_000_000n)],
  [EXPOSED.ofMultisig2022, held(MINTS.pyusd, EXPOSED.multisig2022, 7_000_000n)],
  [
    EXPOSED.loan,
    account(someKey(144), concat(new Uint8Array(8).fill(3), keyBytes(WALLET), new Uint8Array(100))),
  ],
  [EXPOSED.multisig2022, multisig(PROGRAMS.token2022, WALLET)],
  [EXPOSED.tree, account(PROGRAMS.compression, new Uint8Array(200).fill(9))],
  [EXPOSED.treeOfMetaplex, account(PROGRAMS.compressionOfMetaplex, new Uint8Array(200).fill(9))],
  [EXPOSED.treeOfLight, account(PROGRAMS.compressionOfLight, new Uint8Array(200).fill(9))],
];

/** All accounts of the chain. Any other address has no account. */
export const WORLD: Accounts = new Map<Address, ChainAccount>([
  [WALLET, account(PROGRAMS.system, new Uint8Array(), 2_000_000_000n)],
  [ATTACKER, account(PROGRAMS.system, new Uint8Array(), 1_000_000_000n)],
  [MINTS.usdc, mint(PROGRAMS.token, 6, someKey(196))],
  [MINTS.usdt, mint(PROGRAMS.token, 6, someKey(196))],
  [MINTS.wsol, mint(PROGRAMS.token, 9)],
  [MINTS.pyusd, mint(PROGRAMS.token2022, 6, someKey(196))],
  [MINTS.bonk, mint(PROGRAMS.token, 5)],
  ...Object.values(FAKE_MINTS).map((one): [Address, ChainAccount] => [
    one,
    mint(tokenProgramOf(one), one === FAKE_MINTS.wsol ? 9 : 6, ATTACKER),
  ]),
  ...tokens(WALLET, 1_000_000_000n, own),
  ...tokens(ATTACKER, 0n, theirs),
  ...[
    PROGRAMS.jupiter,
    PROGRAMS.raydium,
    PROGRAMS.whirlpool,
    PROGRAMS.token,
    PROGRAMS.token2022,
  ].map((one): [Address, ChainAccount] => [one, program()]),
  ...tables,
  ...pools,
  ...exposed,
]);
