import { concat, keyBytes, u64 } from '../accounts.js';
import { ATTACKER, MINTS, SYSVARS, WALLET, own, theirs } from '../addresses.js';
import { draftOf, instructionsOf } from '../bases.js';
import { transaction } from '../build.js';
import { adding, family, type Attack, type Spot } from '../case.js';
import {
  payer,
  readonly,
  signer,
  syncNative,
  system,
  transferSol,
  writable,
  type FilledInstruction,
} from '../instructions.js';
import { EXPOSED, NONCE_VALUE } from '../world.js';

const SOL = 1_000_000_000n;
const wsol = own(MINTS.wsol);
const NONCE = EXPOSED.nonce;
/** A seed in the format of the System program: a u64 length, then the letters. */
const seed = concat(u64(4n), [101, 118, 105, 108]);

const breaking =
  (rule: string) =>
  (attack: string, spot: Spot, ...instructions: readonly FilledInstruction[]) => ({
    attack,
    rule,
    make: adding(spot, () => instructions),
  });
const bad = breaking('system_instruction');
const nonceUse = breaking('durable_nonce');

/** Every operation of the System program, in the order of its number. */
const operations: readonly Attack[] = [
  bad(
    'create_account',
    'before',
    system(0, [payer(WALLET), writable(ATTACKER)], concat(u64(SOL), u64(0n), keyBytes(ATTACKER))),
  ),
  bad('assign', 'before', system(1, [payer(WALLET)], keyBytes(ATTACKER))),
  bad('assign_at_the_end', 'after', system(1, [payer(WALLET)], keyBytes(ATTACKER))),
  bad('sol_transfer', 'before', transferSol(WALLET, ATTACKER, SOL)),
  bad('sol_transfer_first', 'first', transferSol(WALLET, ATTACKER, SOL)),
  bad('sol_transfer_last', 'after', transferSol(WALLET, ATTACKER, SOL)),
  bad(
    'create_with_seed',
    'before',
    system(
      3,
      [payer(WALLET), writable(ATTACKER)],
      concat(keyBytes(WALLET), seed, u64(SOL), u64(0n), keyBytes(ATTACKER)),
    ),
  ),
  bad(
    'nonce_withdraw',
    'before',
    system(
      5,
      [
        writable(NONCE),
        writable(ATTACKER),
        readonly(SYSVARS.recentBlockhashes),
        readonly(SYSVARS.rent),
        signer(WALLET),
      ],
      u64(SOL),
    ),
  ),
  bad(
    'nonce_initialize',
    'before',
    system(
      6,
      [writable(NONCE), readonly(SYSVARS.recentBlockhashes), readonly(SYSVARS.rent)],
      keyBytes(ATTACKER),
    ),
  ),
  bad(
    'nonce_authorize',
    'before',
    system(7, [writable(NONCE), signer(WALLET)], keyBytes(ATTACKER)),
  ),
  bad('alloc', 'before', system(8, [payer(WALLET)], u64(1_000n))),
  bad(
    'allocate_with_seed',
    'before',
    system(
      9,
      [writable(ATTACKER), signer(WALLET)],
      concat(keyBytes(WALLET), seed, u64(8n), keyBytes(ATTACKER)),
    ),
  ),
  bad(
    'assign_with_seed',
    'before',
    system(
      10,
      [writable(ATTACKER), signer(WALLET)],
      concat(keyBytes(WALLET), seed, keyBytes(ATTACKER)),
    ),
  ),
  bad(
    'transfer_with_seed',
    'before',
    system(
      11,
      [writable(NONCE), signer(WALLET), writable(ATTACKER)],
      concat(u64(SOL), seed, keyBytes(ATTACKER)),
    ),
  ),
  bad('nonce_upgrade', 'before', system(12, [writable(NONCE)])),
  bad(
    'create_prefund',
    'before',
    system(13, [payer(WALLET), writable(ATTACKER)], concat(u64(SOL), u64(0n), keyBytes(ATTACKER))),
  ),
  bad('unknown_operation', 'before', system(14, [payer(WALLET), writable(ATTACKER)], u64(SOL))),
  bad(
    'unknown_operation_u32_max',
    'before',
    system(2 ** 32 - 1, [payer(WALLET), writable(ATTACKER)], u64(SOL)),
  ),
  bad('without_data', 'before', { ...transferSol(WALLET, ATTACKER, SOL), data: new Uint8Array() }),
];

/** Transfers that differ slightly from those that a swap needs. */
const nearly: readonly Attack[] = [
  bad('transfer_to_the_attackers_wsol', 'before', transferSol(WALLET, theirs(MINTS.wsol), SOL)),
  bad('transfer_to_another_own_account', 'before', transferSol(WALLET, own(MINTS.bonk), SOL)),
  bad('transfer_with_a_tail', 'before', {
    ...transferSol(WALLET, ATTACKER, SOL),
    data: concat(transferSol(WALLET, wsol, 1n).data, [0]),
  }),
  bad('transfer_with_a_third_account', 'before', {
    ...transferSol(WALLET, wsol, 1n),
    accounts: [payer(WALLET), writable(wsol), writable(ATTACKER)],
  }),
  bad('wrap_after_the_swap', 'after', transferSol(WALLET, wsol, 1n)),
  bad('floor_before_the_swap', 'before', transferSol(WALLET, WALLET, 1n)),
  bad(
    'floor_that_is_not_last',
    'after',
    transferSol(WALLET, WALLET, 1n),
    transferSol(WALLET, ATTACKER, SOL),
  ),
  bad('transfer_without_an_amount', 'before', system(2, [payer(WALLET), writable(wsol)])),
  {
    ...bad('wrap_for_a_swap_of_tokens', 'before', transferSol(WALLET, wsol, 1n)),
    directions: ['usdc-usdt', 'usdc-sol', 'usdc-pyusd'],
  },
];

const more = breaking('wrap_amount');
const amounts = [
  more('wrap_more', 'before', transferSol(WALLET, wsol, SOL), syncNative(wsol)),
  more('wrap_one_more', 'before', transferSol(WALLET, wsol, 1n), syncNative(wsol)),
  more('wrap_before_all', 'first', transferSol(WALLET, wsol, 2n ** 64n - 1n)),
  more(
    'wrap_in_parts',
    'before',
    ...Array.from({ length: 4 }, () => transferSol(WALLET, wsol, SOL / 4n)),
  ),
];
const wraps: readonly Attack[] = amounts.map((one) => ({ ...one, directions: ['sol-usdc'] }));

const recent = readonly(SYSVARS.recentBlockhashes);
const advance = (authority: FilledInstruction['accounts'][number], tail: readonly number[] = []) =>
  system(4, [writable(NONCE), recent, authority], tail);

const nonces: readonly Attack[] = [
  nonceUse('nonce_advance_first', 'first', advance(signer(WALLET))),
  nonceUse('nonce_advance_before_the_swap', 'before', advance(signer(WALLET))),
  nonceUse('nonce_advance_last', 'after', advance(signer(WALLET))),
  nonceUse('nonce_advance_by_nobody', 'first', advance(readonly(ATTACKER))),
  nonceUse('nonce_advance_with_a_tail', 'first', advance(signer(WALLET), [9, 9])),
  nonceUse('nonce_advance_without_accounts', 'first', system(4, [])),
  {
    attack: 'nonce_as_blockhash',
    rule: 'durable_nonce',
    make: (from) =>
      transaction({
        ...draftOf(from, [advance(signer(WALLET)), ...instructionsOf(from)]),
        lifetime: NONCE_VALUE,
      }),
  },
];

export const systemCases = [
  ...family('system', 'defused', [...operations, ...nearly, ...wraps]),
  ...family('nonce', 'refused', nonces),
];
