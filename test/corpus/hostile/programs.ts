import type { Address } from '@solana/kit';
import { concat, keyBytes, u32, u64 } from '../accounts.js';
import { ATTACKER, MINTS, PROGRAMS, SYSVARS, WALLET, own, someKey, theirs } from '../addresses.js';
import { adding, family, type Attack } from '../case.js';
import {
  instruction,
  payer,
  readonly,
  signer,
  writable,
  type FilledInstruction,
} from '../instructions.js';
import { EXPOSED, TABLES } from '../world.js';

const wallet = signer(WALLET);
const key = keyBytes(ATTACKER);
const SOL = 1_000_000_000n;
const PROGRAM = someKey(242);
const BUFFER = someKey(244);

type Call = readonly [
  attack: string,
  program: Address,
  accounts: FilledInstruction['accounts'],
  data: ArrayLike<number>,
];

const calls: readonly Call[] = [
  ['memo', PROGRAMS.memo, [], [104, 105]],
  ['memo_signed', PROGRAMS.memo, [wallet], [104, 105]],
  ['memo_v1', PROGRAMS.memoV1, [wallet], [104, 105]],
  ['lighthouse', PROGRAMS.lighthouse, [readonly(WALLET)], concat([5, 0, 0], u64(1n), [4])],

  [
    'stake_authorize',
    PROGRAMS.stake,
    [writable(EXPOSED.stake), readonly(SYSVARS.clock), wallet],
    concat(u32(1), key, u32(1)),
  ],
  [
    'stake_split',
    PROGRAMS.stake,
    [writable(EXPOSED.stake), writable(ATTACKER), wallet],
    concat(u32(3), u64(SOL)),
  ],
  [
    'stake_withdraw',
    PROGRAMS.stake,
    [
      writable(EXPOSED.stake),
      writable(ATTACKER),
      readonly(SYSVARS.clock),
      readonly(SYSVARS.stakeHistory),
      wallet,
    ],
    concat(u32(4), u64(SOL)),
  ],
  [
    'stake_deactivate',
    PROGRAMS.stake,
    [writable(EXPOSED.stake), readonly(SYSVARS.clock), wallet],
    u32(5),
  ],
  [
    'stake_set_lockup',
    PROGRAMS.stake,
    [writable(EXPOSED.stake), wallet],
    concat(u32(6), [0, 0, 1], key),
  ],
  [
    'vote_authorize',
    PROGRAMS.vote,
    [writable(EXPOSED.vote), readonly(SYSVARS.clock), wallet],
    concat(u32(1), key, u32(1)),
  ],
  [
    'vote_withdraw',
    PROGRAMS.vote,
    [writable(EXPOSED.vote), writable(ATTACKER), wallet],
    concat(u32(3), u64(SOL)),
  ],

  [
    'bpf_upgrade',
    PROGRAMS.upgradeableLoader,
    [
      ...[writable(EXPOSED.programData), writable(PROGRAM), writable(BUFFER), writable(ATTACKER)],
      ...[readonly(SYSVARS.rent), readonly(SYSVARS.clock), wallet],
    ],
    u32(3),
  ],
  [
    'bpf_set_authority',
    PROGRAMS.upgradeableLoader,
    [writable(EXPOSED.programData), wallet, readonly(ATTACKER)],
    u32(4),
  ],
  [
    'bpf_set_buffer_authority',
    PROGRAMS.upgradeableLoader,
    [writable(EXPOSED.programBuffer), wallet, readonly(ATTACKER)],
    u32(4),
  ],
  [
    'bpf_close',
    PROGRAMS.upgradeableLoader,
    [writable(EXPOSED.programData), writable(ATTACKER), wallet, writable(PROGRAM)],
    u32(5),
  ],
  [
    'bpf_extend',
    PROGRAMS.upgradeableLoader,
    [writable(EXPOSED.programData), writable(PROGRAM), readonly(PROGRAMS.system), payer(WALLET)],
    concat(u32(6), u32(10_240)),
  ],
  [
    'bpf_write',
    PROGRAMS.upgradeableLoader,
    [writable(EXPOSED.programBuffer), wallet],
    concat(u32(1), u32(0), u64(1n), [0]),
  ],
  ['bpf_loader_of_old', PROGRAMS.loaderV2, [payer(WALLET)], u32(1)],
  [
    'loader_v4_transfer_authority',
    PROGRAMS.loaderV4,
    [writable(EXPOSED.loaderV4), wallet, readonly(ATTACKER)],
    u32(4),
  ],
  ['loader_v4_retract', PROGRAMS.loaderV4, [writable(EXPOSED.loaderV4), wallet], u32(3)],

  [
    'alt_create',
    PROGRAMS.lookupTable,
    [writable(someKey(246)), wallet, payer(WALLET), readonly(PROGRAMS.system)],
    concat(u32(0), u64(1n), [255]),
  ],
  ['alt_freeze', PROGRAMS.lookupTable, [writable(EXPOSED.table), wallet], u32(1)],
  [
    'alt_extend',
    PROGRAMS.lookupTable,
    [writable(EXPOSED.table), wallet, payer(WALLET), readonly(PROGRAMS.system)],
    concat(u32(2), u64(1n), key),
  ],
  [
    'alt_extend_the_one_in_use',
    PROGRAMS.lookupTable,
    [writable(TABLES.venues), wallet],
    concat(u32(2), u64(1n), key),
  ],
  ['alt_deactivate', PROGRAMS.lookupTable, [writable(EXPOSED.table), wallet], u32(3)],
  [
    'alt_close',
    PROGRAMS.lookupTable,
    [writable(EXPOSED.table), wallet, writable(ATTACKER)],
    u32(4),
  ],

  ['config_store', PROGRAMS.config, [payer(WALLET)], [1, ...key, 1]],
  ['ed25519_verify', PROGRAMS.ed25519, [], [0, 0]],
  ['secp256k1_verify', PROGRAMS.secp256k1, [], [0]],
  [
    'unknown_program',
    someKey(248),
    [payer(WALLET), writable(own(MINTS.usdc)), writable(theirs(MINTS.usdc))],
    [1],
  ],
  ['unknown_program_without_accounts', someKey(248), [], []],
  // Only Jupiter may call venues; a venue that the transaction calls itself swaps without bounds.
  [
    'venue_directly',
    PROGRAMS.raydium,
    [wallet, writable(own(MINTS.usdc)), writable(theirs(MINTS.usdt))],
    concat([9], u64(SOL), u64(0n)),
  ],
  [
    'jupiter_of_old',
    PROGRAMS.jupiterV4,
    [wallet, writable(own(MINTS.usdc))],
    [1, 2, 3, 4, 5, 6, 7, 8],
  ],
  [
    'jupiter_limit_order',
    PROGRAMS.jupiterLimitOrder,
    [payer(WALLET), writable(own(MINTS.usdc))],
    concat([1], u64(SOL), u64(1n)),
  ],
];

const foreign = ([attack, program, accounts, data]: Call, index: number): Attack => ({
  attack,
  rule: 'foreign_program',
  make: adding(index % 2 === 0 ? 'after' : 'before', () => [instruction(program, accounts, data)]),
});

export const programs = family('programs', 'defused', calls.map(foreign));
