import type { Address } from '@solana/kit';
import { concat, keyBytes, u64 } from '../accounts.js';
import { ATTACKER, MINTS, PROGRAMS, SYSVARS, WALLET, own, theirs } from '../addresses.js';
import type { Expectation } from '../bases.js';
import { adding, family, type Attack, type Spot } from '../case.js';
import {
  closeAccount,
  instruction,
  readonly,
  signer,
  writable,
  type FilledInstruction,
} from '../instructions.js';
import { EXPOSED } from '../world.js';

const { usdc, usdt, bonk, pyusd, wsol } = MINTS;
const ALL = 2n ** 64n - 1n;
const DECIMALS = 6;
const wallet = signer(WALLET);

interface Side {
  readonly program: Address;
  /** Token account of the wallet, of this program. */
  readonly account: Address;
  readonly mint: Address;
  readonly attackers: Address;
}

const OF_TOKEN: Side = {
  program: PROGRAMS.token,
  account: own(usdc),
  mint: usdc,
  attackers: theirs(usdc),
};
const OF_TOKEN_2022: Side = {
  program: PROGRAMS.token2022,
  account: own(pyusd),
  mint: pyusd,
  attackers: theirs(pyusd),
};

type Operation = readonly [
  name: string,
  accounts: FilledInstruction['accounts'],
  data: ArrayLike<number>,
];

/**
 * Operations of both token programs, without SyncNative (17) and CloseAccount (9), which swaps
 * use.
 */
function shared({ account, mint, attackers }: Side): Operation[] {
  const from = writable(account);
  const rent = readonly(SYSVARS.rent);
  const key = keyBytes(ATTACKER);
  return [
    ['initialize_mint', [writable(mint), rent], concat([0, DECIMALS], key, [0])],
    ['initialize_account', [from, readonly(mint), readonly(ATTACKER), rent], [1]],
    ['initialize_multisig', [from, rent, readonly(ATTACKER)], [2, 1]],
    ['tok_transfer', [from, writable(attackers), wallet], concat([3], u64(ALL))],
    ['approve', [from, readonly(ATTACKER), wallet], concat([4], u64(ALL))],
    ['set_authority_mint', [writable(mint), wallet], concat([6, 0, 1], key)],
    ['set_authority_owner', [from, wallet], concat([6, 2, 1], key)],
    ['set_authority_close', [from, wallet], concat([6, 3, 1], key)],
    ['mint_to', [writable(mint), writable(attackers), wallet], concat([7], u64(ALL))],
    ['burn', [from, writable(mint), wallet], concat([8], u64(1_000_000n))],
    ['freeze', [from, readonly(mint), wallet], [10]],
    ['thaw', [from, readonly(mint), wallet], [11]],
    [
      'tok_transfer_checked',
      [from, readonly(mint), writable(attackers), wallet],
      concat([12], u64(1_000_000n), [DECIMALS]),
    ],
    [
      'approve_checked',
      [from, readonly(mint), readonly(ATTACKER), wallet],
      concat([13], u64(ALL), [DECIMALS]),
    ],
    [
      'mint_to_checked',
      [writable(mint), writable(attackers), wallet],
      concat([14], u64(ALL), [DECIMALS]),
    ],
    ['burn_checked', [from, writable(mint), wallet], concat([15], u64(1_000_000n), [DECIMALS])],
    ['initialize_account_2', [from, readonly(mint), rent], concat([16], key)],
    ['initialize_account_3', [from, readonly(mint)], concat([18], key)],
    ['initialize_multisig_2', [from, readonly(ATTACKER)], [19, 1]],
    ['initialize_mint_2', [writable(mint)], concat([20, DECIMALS], key, [0])],
    ['get_account_data_size', [readonly(mint)], [21]],
    ['initialize_immutable_owner', [from], [22]],
    ['amount_to_ui_amount', [readonly(mint)], concat([23], u64(1n))],
    ['ui_amount_to_amount', [readonly(mint)], [24, 49]],
    ['withdraw_excess', [from, writable(ATTACKER), wallet], [38]],
    ['unwrap_lamports', [from, writable(ATTACKER), wallet], [45, 0]],
    // A Batch contains other instructions: here a Transfer of the whole balance.
    ['ptoken_batch', [from, writable(attackers), wallet], concat([255, 3, 9, 3], u64(ALL))],
    ['without_data', [from, writable(attackers), wallet], []],
  ];
}

/**
 * Operations that only Token-2022 has, and its unassigned numbers. Some numbers are families, with
 * the operation in the second byte.
 */
const EXTENSIONS: readonly (readonly [opcode: number, name: string, rest: ArrayLike<number>])[] = [
  [25, 'initialize_mint_close_authority', concat([1], keyBytes(ATTACKER))],
  [26, 'transfer_checked_with_fee', concat([1], u64(1_000_000n), [DECIMALS], u64(0n))],
  [26, 'withdraw_withheld_fees', [3]],
  [26, 'set_transfer_fee', concat([5, 0x10, 0x27], u64(ALL))],
  [27, 'confidential_transfer', concat([7], u64(1_000_000n), [DECIMALS])],
  [28, 'default_account_state', [1, 2]],
  [29, 'reallocate', [8, 0]],
  [30, 'memo_transfer_enable', [0]],
  [31, 'create_native_mint', []],
  [32, 'initialize_non_transferable_mint', []],
  [33, 'interest_bearing_update_rate', [1, 0xff, 0x7f]],
  [34, 'cpi_guard_disable', [1]],
  [35, 'initialize_permanent_delegate', keyBytes(ATTACKER)],
  [36, 'transfer_hook_update', concat([1], keyBytes(ATTACKER))],
  [37, 'confidential_transfer_fee', [1]],
  [39, 'metadata_pointer_update', concat([1], keyBytes(ATTACKER))],
  [40, 'group_pointer_update', concat([1], keyBytes(ATTACKER))],
  [41, 'group_member_pointer_update', concat([1], keyBytes(ATTACKER))],
  [42, 'confidential_mint_burn', [4]],
  [43, 'scaled_ui_amount_update', concat([1], u64(1n), u64(0n))],
  [44, 'pausable_pause', [1]],
  [46, 'permissioned_burn', concat([1], u64(1_000_000n))],
  ...[47, 48, 64, 128, 254].map((opcode) => [opcode, 'unassigned', []] as const),
  // Token-2022 also implements the interfaces for metadata and groups, which begin with eight bytes
  // of a hash.
  [210, 'metadata_initialize', [225, 30, 162, 88, 184, 77, 141]],
  [215, 'metadata_update_authority', concat([228, 166, 84, 100, 86, 123, 165], keyBytes(ATTACKER))],
];

/** Unassigned numbers of the older program. */
const UNASSIGNED = [25, 26, 27, 28, 29, 37, 44, 46, 64, 128, 200, 254];

function numbered(
  { account, attackers }: Side,
  opcode: number,
  name: string,
  rest: ArrayLike<number> = [],
): Operation {
  return [
    `${opcode}_${name}`,
    [writable(account), writable(attackers), wallet],
    concat([opcode], rest),
  ];
}

/** Places attacks alternately before and after the swap. */
const anywhere =
  (side: Side) =>
  ([attack, accounts, data]: Operation, index: number): Attack => {
    const spot = index % 2 === 0 ? 'before' : 'after';
    return {
      attack,
      rule: 'token_instruction',
      make: adding(spot, () => [instruction(side.program, accounts, data)]),
    };
  };

const placed =
  (rule: string) =>
  (attack: string, spot: Spot, make: (output: Side) => FilledInstruction): Attack => ({
    attack,
    rule,
    make: adding(spot, ({ expected }) => [make(outputOf(expected))]),
  });

/** Returns the output side of the swap. */
function outputOf({ outputMint, outputProgram }: Expectation): Side {
  return {
    program: outputProgram,
    account: own(outputMint),
    mint: outputMint,
    attackers: theirs(outputMint),
  };
}

const nearly = placed('token_instruction');
const floor = concat([12], u64(1n), [DECIMALS]);

/**
 * Instructions that resemble the guard's. Besides the guard, a swap may contain no other token
 * instructions.
 */
const guardLike: readonly Attack[] = [
  nearly('floor_before_the_swap', 'before', ({ program, account, mint }) =>
    instruction(program, [writable(account), readonly(mint), writable(account), wallet], floor),
  ),
  nearly('floor_into_another_account', 'after', ({ program, account, mint, attackers }) =>
    instruction(program, [writable(account), readonly(mint), writable(attackers), wallet], floor),
  ),
  nearly('floor_with_multisig_extras', 'after', ({ program, account, mint }) =>
    instruction(
      program,
      [writable(account), readonly(mint), writable(account), readonly(EXPOSED.multisig), wallet],
      floor,
    ),
  ),
  nearly('floor_of_another_mint', 'after', ({ program, account }) =>
    instruction(program, [writable(account), readonly(bonk), writable(account), wallet], floor),
  ),
  nearly('floor_of_another_account', 'after', () =>
    instruction(
      PROGRAMS.token,
      [writable(own(bonk)), readonly(bonk), writable(own(bonk)), wallet],
      floor,
    ),
  ),
  nearly('revoke_before_the_swap', 'before', ({ program, account }) =>
    instruction(program, [writable(account), wallet], [5]),
  ),
  nearly('revoke_of_another_account', 'after', () =>
    instruction(PROGRAMS.token, [writable(own(bonk)), wallet], [5]),
  ),
  nearly('revoke_with_multisig_extras', 'after', ({ program, account }) =>
    instruction(program, [writable(account), readonly(EXPOSED.multisig), wallet], [5]),
  ),
  nearly('revoke_with_a_tail', 'after', ({ program, account }) =>
    instruction(program, [writable(account), wallet], [5, 0]),
  ),
  nearly('drop_close_authority_of_another_account', 'after', () =>
    instruction(PROGRAMS.token, [writable(own(bonk)), wallet], [6, 3, 0]),
  ),
  nearly('set_close_authority_of_the_output', 'after', ({ program, account }) =>
    instruction(program, [writable(account), wallet], concat([6, 3, 1], keyBytes(ATTACKER))),
  ),
  nearly('set_owner_of_the_output', 'after', ({ program, account }) =>
    instruction(program, [writable(account), wallet], concat([6, 2, 1], keyBytes(ATTACKER))),
  ),
  nearly('drop_owner_of_the_output', 'after', ({ program, account }) =>
    instruction(program, [writable(account), wallet], [6, 2, 0]),
  ),
  nearly('guard_by_the_other_program', 'after', ({ program, account }) =>
    instruction(
      program === PROGRAMS.token ? PROGRAMS.token2022 : PROGRAMS.token,
      [writable(account), wallet],
      [5],
    ),
  ),
];

const sync = placed('sync_native');
const syncing = (account: Address, program: Address = PROGRAMS.token) =>
  instruction(program, [writable(account)], [17]);

const syncs: readonly Attack[] = [
  sync('sync_of_the_attackers', 'before', () => syncing(theirs(wsol))),
  sync('sync_of_another_own_account', 'before', () => syncing(own(bonk))),
  sync('sync_of_the_output', 'before', () => syncing(own(usdt))),
  sync('sync_after_the_swap', 'after', () => syncing(own(wsol))),
  sync('sync_by_token_2022', 'before', () => syncing(own(wsol), PROGRAMS.token2022)),
  sync('sync_with_a_tail', 'before', () =>
    instruction(PROGRAMS.token, [writable(own(wsol))], [17, 0]),
  ),
  sync('sync_with_another_account', 'before', () =>
    instruction(PROGRAMS.token, [writable(own(wsol)), writable(own(usdc))], [17]),
  ),
  sync('sync_without_accounts', 'before', () => instruction(PROGRAMS.token, [], [17])),
];

const close = placed('close_account');

const closes: readonly Attack[] = [
  close('close_to_evil', 'after', () => closeAccount(own(wsol), ATTACKER, WALLET)),
  close('close_usdc', 'after', () => closeAccount(own(usdc), WALLET, WALLET)),
  close('close_usdc_to_evil', 'after', () => closeAccount(own(usdc), ATTACKER, WALLET)),
  close('close_another_own_account', 'after', () => closeAccount(own(bonk), WALLET, WALLET)),
  close('close_pyusd', 'after', () => closeAccount(own(pyusd), WALLET, WALLET, PROGRAMS.token2022)),
  close('close_before_the_swap', 'before', () => closeAccount(own(wsol), WALLET, WALLET)),
  close('close_into_another_own_account', 'after', () =>
    closeAccount(own(wsol), own(usdc), WALLET),
  ),
  close('close_by_token_2022', 'after', () =>
    closeAccount(own(wsol), WALLET, WALLET, PROGRAMS.token2022),
  ),
  close('close_auxiliary', 'after', () => closeAccount(EXPOSED.auxiliary, ATTACKER, WALLET)),
  close('close_by_multisig', 'after', () =>
    instruction(
      PROGRAMS.token,
      [writable(own(wsol)), writable(WALLET), readonly(EXPOSED.multisig), wallet],
      [9],
    ),
  ),
  close('close_with_multisig_extras', 'after', () =>
    instruction(
      PROGRAMS.token,
      [writable(own(wsol)), writable(WALLET), wallet, readonly(ATTACKER)],
      [9],
    ),
  ),
  close('close_with_a_tail', 'after', () =>
    instruction(PROGRAMS.token, [writable(own(wsol)), writable(WALLET), wallet], [9, 0]),
  ),
  close('close_by_somebody_else', 'after', () =>
    instruction(PROGRAMS.token, [writable(own(wsol)), writable(WALLET), readonly(ATTACKER)], [9]),
  ),
];

export const token = [
  ...family('token', 'defused', [
    ...shared(OF_TOKEN).map(anywhere(OF_TOKEN)),
    ...UNASSIGNED.map((opcode) => numbered(OF_TOKEN, opcode, 'unassigned')).map(anywhere(OF_TOKEN)),
    ...guardLike,
  ]),
  ...family('token-2022', 'defused', [
    ...shared(OF_TOKEN_2022).map(anywhere(OF_TOKEN_2022)),
    ...EXTENSIONS.map((one) => numbered(OF_TOKEN_2022, ...one)).map(anywhere(OF_TOKEN_2022)),
  ]),
  ...family('sync', 'defused', syncs),
  ...family('close', 'defused', closes),
];
