import type { Address } from '@solana/kit';
import { WALLET } from '../addresses.js';
import { table, type Accounts } from '../accounts.js';
import type { Message } from '../build.js';
import { family, rearranging, type Attack } from '../case.js';
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

const states: readonly Attack[] = [
  { attack: 'missing', rule: 'lookup_table_owner', make: first(TABLES.missing) },
  { attack: 'foreign_owner', rule: 'lookup_table_owner', make: first(TABLES.foreignOwner) },
  { attack: 'owned_by_system', rule: 'lookup_table_owner', make: first(TABLES.systemOwner) },
  { attack: 'never_initialized', rule: 'lookup_table_owner', make: first(TABLES.uninitialized) },
  { attack: 'ragged_end', rule: 'lookup_table_owner', make: first(TABLES.raggedEnd) },
  { attack: 'header_cut', rule: 'lookup_table_owner', make: first(TABLES.shortHeader) },
  { attack: 'deactivated', rule: 'lookup_table_inactive', make: first(TABLES.deactivated) },
  {
    attack: 'deactivated_in_this_slot',
    rule: 'lookup_table_inactive',
    make: first(TABLES.deactivating),
  },
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

const entries: readonly Attack[] = [
  {
    attack: 'lut_range',
    rule: 'lookup_table_entry',
    make: also({ table: TABLES.attackers, readonly: [TABLE_ENTRIES.attackers.length] }),
  },
  {
    attack: 'lut_range_255',
    rule: 'lookup_table_entry',
    make: also({ table: TABLES.attackers, readonly: [255] }),
  },
  {
    attack: 'lut_range_writable',
    rule: 'lookup_table_entry',
    make: also({ table: TABLES.attackers, writable: [200] }),
  },
  {
    attack: 'shrunk',
    rule: 'lookup_table_entry',
    make: also({ table: TABLES.shrunk, readonly: [5] }),
  },
  { attack: 'empty_table', rule: 'lookup_table_entry', make: first(TABLES.empty) },
  {
    attack: 'extended_in_this_slot',
    rule: 'lookup_table_entry',
    make: also({ table: TABLES.extendedNow, readonly: [4] }),
  },
  { attack: 'created_in_this_slot', rule: 'lookup_table_entry', make: first(TABLES.createdNow) },
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

const indexes: readonly Attack[] = [
  { attack: 'account_twice', rule: 'transaction_accounts', make: rearranging(twice) },
  {
    attack: 'account_static_and_loaded',
    rule: 'transaction_accounts',
    make: also({ table: TABLES.attackers, readonly: [WALLET_ENTRY] }),
  },
  {
    attack: 'wallet_loaded_writable',
    rule: 'transaction_accounts',
    make: also({ table: TABLES.attackers, writable: [WALLET_ENTRY] }),
  },
  {
    attack: 'account_from_two_tables',
    rule: 'transaction_accounts',
    make: also(
      { table: TABLES.attackers, readonly: [FILLED] },
      { table: TABLES.single[0], readonly: [0] },
    ),
  },
  {
    attack: 'entry_twice',
    rule: 'transaction_accounts',
    make: also({ table: TABLES.attackers, readonly: [FILLED, FILLED] }),
  },
  {
    attack: 'entry_writable_and_read_only',
    rule: 'transaction_accounts',
    make: also({ table: TABLES.attackers, readonly: [FILLED], writable: [FILLED] }),
  },
  {
    attack: 'oob',
    rule: 'transaction_accounts',
    make: rearranging((message) => pointing(message, accountCount(message))),
  },
  {
    attack: 'oob_255',
    rule: 'transaction_accounts',
    make: rearranging((message) => pointing(message, 255)),
  },
  { attack: 'program_oob', rule: 'transaction_accounts', make: calling(accountCount) },
  {
    attack: 'program_from_lut',
    rule: 'transaction_accounts',
    make: rearranging((message) => {
      const loaded = loading(message, { table: TABLES.attackers, readonly: [FILLED] });
      const program = { programAddressIndex: accountCount(loaded) - 1, data: Uint8Array.of(1) };
      return { ...loaded, instructions: [...loaded.instructions, program] };
    }),
  },
  {
    attack: 'program_writable',
    rule: 'transaction_accounts',
    make: rearranging((message) => ({
      ...message,
      header: { ...message.header, numReadonlyNonSignerAccounts: 0 },
    })),
  },
  { attack: 'program_is_the_wallet', rule: 'transaction_accounts', make: calling(() => 0) },
];

export const tables = family('tables', 'refused', [...names, ...states, ...entries, ...indexes]);
