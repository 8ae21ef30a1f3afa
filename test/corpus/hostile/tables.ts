import type { Address } from '@solana/kit';
import { WALLET } from '../addresses.js';
import { table, type Accounts } from '../accounts.js';
import type { Message } from '../build.js';
import { breakingRule, family, rearranging, type Attack } from '../case.js';
import { accountCount, loading } from '../lookups.js';
import { FILLED, SLOT, TABLES, TABLE_ENTRIES } from '../world.js';

const also = (...lookups: readonly Parameters<typeof loading>[1][]) =>
  rearranging((message) => lookups.reduce(loading, message));

const WALLET_ENTRY = TABLE_ENTRIES.attackers.indexOf(WALLET);
const sixOthers = TABLES.single.map((one) => ({ table: one, readonly: [0] }));

const names: readonly Attack[] = [
  {
    attack: 'seven_tables',
    rule: 'lookup_tables',
    directions: ['usdc-usdt', 'usdc-pyusd'],
    make: also(...sixOthers, { table: TABLES.attackers, writable: [FILLED + 7] }),
  },
  {
    attack: 'lut_dup',
    rule: 'lookup_tables',
    make: also(
      { table: TABLES.attackers, readonly: [FILLED] },
      { table: TABLES.attackers, readonly: [FILLED + 1] },
    ),
  },
  // The network refuses such a message.
  {
    attack: 'table_without_indexes',
    rule: 'transaction_encoding',
    make: also({ table: TABLES.attackers }),
  },
];

const first = (one: Address) => also({ table: one, readonly: [0] });

const unowned = breakingRule('lookup_table_owner');
const inactive = breakingRule('lookup_table_inactive');
const states: readonly Attack[] = [
  unowned('missing', first(TABLES.missing)),
  unowned('foreign_owner', first(TABLES.foreignOwner)),
  unowned('owned_by_system', first(TABLES.systemOwner)),
  unowned('never_initialized', first(TABLES.uninitialized)),
  unowned('ragged_end', first(TABLES.raggedEnd)),
  unowned('header_cut', first(TABLES.shortHeader)),
  inactive('deactivated', first(TABLES.deactivated)),
  inactive('deactivated_in_this_slot', first(TABLES.deactivating)),
];

/** The attacker's table, as seen by a node that is five slots behind. */
const aheadOfUs = (): Accounts =>
  new Map([
    [
      TABLES.attackers,
      table({
        addresses: TABLE_ENTRIES.attackers,
        lastExtendedSlot: SLOT + 5n,
        startIndex: FILLED,
      }),
    ],
  ]);

const outside = breakingRule('lookup_table_entry');
const entries: readonly Attack[] = [
  outside(
    'lut_range',
    also({ table: TABLES.attackers, readonly: [TABLE_ENTRIES.attackers.length] }),
  ),
  outside('lut_range_255', also({ table: TABLES.attackers, readonly: [255] })),
  outside('lut_range_writable', also({ table: TABLES.attackers, writable: [200] })),
  outside('shrunk', also({ table: TABLES.shrunk, readonly: [5] })),
  outside('empty_table', first(TABLES.empty)),
  outside('extended_in_this_slot', also({ table: TABLES.extendedNow, readonly: [4] })),
  outside('created_in_this_slot', first(TABLES.createdNow)),
  {
    attack: 'extended_in_a_later_slot',
    rule: 'lookup_table_entry',
    make: also({ table: TABLES.attackers, readonly: [FILLED] }),
    accounts: aheadOfUs,
  },
];

/** Adds an instruction that names only a program. */
const calling = (program: (message: Message) => number) =>
  rearranging((message) => ({
    ...message,
    instructions: [
      ...message.instructions,
      { programAddressIndex: program(message), data: Uint8Array.of(1) },
    ],
  }));

/** Adds an account to the last instruction that names accounts. */
function pointing(message: Message, index: number): Message {
  const last = message.instructions
    .map((one) => (one.accountIndices ?? []).length > 0)
    .lastIndexOf(true);
  const instructions = message.instructions.map((one, at) =>
    at === last ? { ...one, accountIndices: [...(one.accountIndices ?? []), index] } : one,
  );
  return { ...message, instructions };
}

/** Repeats the last read-only account. */
function twice(message: Message): Message {
  const { header, staticAccounts } = message;
  const moved = (index: number) => (index < staticAccounts.length ? index : index + 1);
  return {
    ...message,
    header: { ...header, numReadonlyNonSignerAccounts: header.numReadonlyNonSignerAccounts + 1 },
    staticAccounts: [...staticAccounts, ...staticAccounts.slice(-1)],
    instructions: message.instructions.map((one) => ({
      ...one,
      accountIndices: (one.accountIndices ?? []).map(moved),
    })),
  };
}

const misplaced = breakingRule('transaction_accounts');
const indexes: readonly Attack[] = [
  misplaced('account_twice', rearranging(twice)),
  misplaced(
    'account_static_and_loaded',
    also({ table: TABLES.attackers, readonly: [WALLET_ENTRY] }),
  ),
  misplaced('wallet_loaded_writable', also({ table: TABLES.attackers, writable: [WALLET_ENTRY] })),
  misplaced(
    'account_from_two_tables',
    also(
      { table: TABLES.attackers, readonly: [FILLED] },
      { table: TABLES.single[0], readonly: [0] },
    ),
  ),
  misplaced('entry_twice', also({ table: TABLES.attackers, readonly: [FILLED, FILLED] })),
  misplaced(
    'entry_writable_and_read_only',
    also({ table: TABLES.attackers, readonly: [FILLED], writable: [FILLED] }),
  ),
  misplaced(
    'oob',
    rearranging((message) => pointing(message, accountCount(message))),
  ),
  misplaced(
    'oob_255',
    rearranging((message) => pointing(message, 255)),
  ),
  misplaced('program_oob', calling(accountCount)),
  misplaced(
    'program_from_lut',
    rearranging((message) => {
      const loaded = loading(message, { table: TABLES.attackers, readonly: [FILLED] });
      const program = { programAddressIndex: accountCount(loaded) - 1, data: Uint8Array.of(1) };
      return { ...loaded, instructions: [...loaded.instructions, program] };
    }),
  ),
  misplaced(
    'program_writable',
    rearranging((message) => ({
      ...message,
      header: { ...message.header, numReadonlyNonSignerAccounts: 0 },
    })),
  ),
  misplaced(
    'program_is_the_wallet',
    calling(() => 0),
  ),
];

export const tables = family('tables', 'refused', [...names, ...states, ...entries, ...indexes]);
