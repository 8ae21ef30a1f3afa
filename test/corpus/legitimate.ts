import { account, concat, tokenAccount, u64, type Accounts } from './accounts.js';
import { MINTS, PROGRAMS, SYSVARS, WALLET, own } from './addresses.js';
import {
  DIRECTION_NAMES,
  base,
  createOwn,
  draftOf,
  instructionsOf,
  type Base,
  type Expectation,
} from './bases.js';
import { base64, transaction } from './build.js';
import {
  adding,
  formsWhere,
  changingAccounts,
  rearranging,
  replacing,
  changingTerms,
  shapes,
  changingBytes,
  swapCase,
  type Shape,
  type SwapCase,
} from './case.js';
import { FORMS, FORM_NAMES, RAYDIUM, WHIRLPOOL, routePlan } from './forms.js';
import {
  closeAccount,
  instruction,
  readonly,
  signer,
  syncNative,
  transferSol,
  unitLimit,
  unitPrice,
  writable,
  type FilledInstruction,
} from './instructions.js';
import { loading } from './lookups.js';
import { recorded, TEMPORARY } from './temporary.js';
import { FILLED, TABLES } from './world.js';

const { wsol } = MINTS;
const wallet = signer(WALLET);

/** Every form in every direction, with and without lookup tables. */
const asReturned: readonly SwapCase[] = FORM_NAMES.flatMap((form) =>
  DIRECTION_NAMES.flatMap((direction) =>
    [false, true].map((withTables) => {
      const make = { make: (from: Base) => transaction(draftOf(from)) };
      return swapCase(
        'legitimate',
        withTables ? 'with_tables' : 'without_tables',
        make,
        base(form, direction, withTables),
      );
    }),
  ),
);

/** Adds the guard with which this library ends its swaps, on a single account. */
function guarding(
  mint: Expectation['inputMint'],
  program: Expectation['inputProgram'],
  least: bigint,
): FilledInstruction[] {
  const self = writable(own(mint));
  const decimals = mint === wsol ? 9 : 6;
  return [
    instruction(program, [self, wallet], [5]),
    instruction(
      program,
      [self, readonly(mint), self, wallet],
      concat([12], u64(least), [decimals]),
    ),
    instruction(program, [self, wallet], [6, 3, 0]),
  ];
}

const compute: readonly Shape[] = [
  {
    shape: 'price_before_limit',
    make: replacing(() => ({ compute: [unitPrice(1n), unitLimit(200_000)] })),
  },
  { shape: 'no_compute_budget', make: replacing(() => ({ compute: [] })) },
  { shape: 'no_price', make: replacing(() => ({ compute: [unitLimit(1_400_000)] })) },
  { shape: 'no_limit', make: replacing(() => ({ compute: [unitPrice(1n)] })) },
  {
    shape: 'highest_priority_fee',
    make: replacing(() => ({ compute: [unitLimit(1_000_000), unitPrice(100_000n)] })),
  },
];

const creations: readonly Shape[] = [
  {
    shape: 'creates_the_output',
    make: replacing(({ expected, setup }) => ({
      setup: [createOwn(expected.outputMint), ...setup],
    })),
  },
  {
    shape: 'creates_by_create',
    make: replacing(({ expected, setup }) => ({
      setup: [{ ...createOwn(expected.outputMint), data: Uint8Array.of(0) }, ...setup],
    })),
  },
  {
    shape: 'creates_as_of_old',
    make: replacing(({ expected, setup }) => {
      const made = createOwn(expected.outputMint);
      return {
        setup: [
          { ...made, accounts: [...made.accounts, readonly(SYSVARS.rent)], data: new Uint8Array() },
          ...setup,
        ],
      };
    }),
  },
];

const wraps: readonly Shape[] = [
  {
    shape: 'wraps_in_two_parts',
    directions: ['sol-usdc'],
    make: replacing(({ expected }) => ({
      setup: [
        createOwn(wsol),
        transferSol(WALLET, own(wsol), 1n),
        transferSol(WALLET, own(wsol), expected.maxIn - 1n),
        syncNative(own(wsol)),
      ],
    })),
  },
  {
    shape: 'wraps_nothing',
    directions: ['sol-usdc'],
    make: replacing(() => ({ setup: [] })),
    accounts: () => holding(wsol, 3_000_000_000n),
  },
  {
    shape: 'leaves_wrapped_what_is_left',
    directions: ['sol-usdc'],
    make: replacing(() => ({ cleanup: [] })),
  },
  {
    shape: 'closes_by_the_way',
    directions: ['usdc-usdt', 'usdc-pyusd'],
    make: adding('after', () => [closeAccount(own(wsol), WALLET, WALLET)]),
  },
];

const throughTemporary = (from: Base) => transaction(draftOf(recorded(from)));

/** Jupiter's temporary account for the SOL of a swap, as in seven recorded transactions. */
const temporaries: readonly Shape[] = [
  {
    shape: 'through_a_temporary_account',
    directions: ['sol-usdc', 'usdc-sol'],
    make: throughTemporary,
  },
  {
    shape: 'through_a_temporary_account_beside_the_own',
    directions: ['sol-usdc', 'usdc-sol'],
    make: throughTemporary,
    accounts: () => holding(wsol, 3_000_000_000n),
  },
  {
    shape: 'through_a_temporary_account_with_lamports_at_it',
    directions: ['sol-usdc', 'usdc-sol'],
    make: throughTemporary,
    accounts: () => new Map([[TEMPORARY.account, account(PROGRAMS.system, new Uint8Array(), 1n)]]),
  },
  {
    shape: 'through_a_temporary_account_into_a_new_one',
    directions: ['sol-usdc'],
    make: (from) => {
      const all = recorded(from);
      return transaction(
        draftOf({ ...all, setup: [...all.setup, createOwn(from.expected.outputMint)] }),
      );
    },
  },
];

/** Returns the wallet's account for a mint, without a delegate or close authority. */
function holding(mint: Expectation['inputMint'], amount: bigint): Accounts {
  return new Map([
    [
      own(mint),
      tokenAccount(PROGRAMS.token, { mint, owner: WALLET, amount, closeAuthority: WALLET }),
    ],
  ]);
}

const states: readonly Shape[] = [
  {
    shape: 'wrapped_account_exists',
    directions: ['sol-usdc', 'usdc-sol', 'usdc-wsol', 'wsol-usdc'],
    make: (from) => transaction(draftOf(from)),
    accounts: () => holding(wsol, 3_000_000_000n),
  },
  {
    // Any wallet may send lamports to an address without an account.
    shape: 'lamports_at_the_missing_account',
    directions: ['usdc-sol', 'usdc-wsol'],
    make: (from) => transaction(draftOf(from)),
    accounts: () => new Map([[own(wsol), account(PROGRAMS.system, new Uint8Array(), 1n)]]),
  },
];

const swaps: readonly Shape[] = [
  {
    shape: 'of_two_steps',
    make: changingTerms((_, { form }) => ({
      plan: routePlan(FORMS[form].version, [RAYDIUM, WHIRLPOOL]),
    })),
  },
  { shape: 'of_no_slippage', make: changingTerms(() => ({ slippageBps: 0 })) },
  {
    shape: 'better_than_agreed',
    make: changingTerms(({ quoted }, { form }) => ({
      quoted: FORMS[form].mode === 'ExactIn' ? quoted + 1n : quoted - 1n,
    })),
  },
  {
    shape: 'output_named_twice',
    forms: formsWhere(({ places }) => places.includes('override')),
    make: changingAccounts(({ expected }) => ({ override: own(expected.outputMint) })),
  },
  {
    shape: 'wallet_again_read_only',
    make: changingTerms(({ venues }) => ({ venues: [...venues, readonly(WALLET)] })),
  },
  {
    shape: 'of_128_accounts',
    make: (from) => {
      const { accounts } = from.swap;
      const all = [
        ...accounts,
        ...Array.from({ length: 128 - accounts.length }, () => readonly(PROGRAMS.token)),
      ];
      return transaction(draftOf({ ...from, swap: { ...from.swap, accounts: all } }));
    },
  },
];

const lookups: readonly Shape[] = [
  {
    shape: 'of_six_tables',
    directions: ['usdc-usdt', 'usdc-pyusd'],
    make: (from) =>
      transaction({ ...draftOf(from), tables: {} }, (message) =>
        TABLES.single.map((table) => ({ table, readonly: [0] })).reduce(loading, message),
      ),
  },
  {
    shape: 'of_a_table_that_grows',
    make: rearranging((message) =>
      loading(message, { table: TABLES.extendedNow, readonly: [0], writable: [3] }),
    ),
  },
  {
    shape: 'of_the_last_entry',
    make: rearranging((message) =>
      loading(message, { table: TABLES.attackers, writable: [FILLED, FILLED + 7] }),
    ),
  },
];

const whole: readonly Shape[] = [
  { shape: 'in_base64', make: changingBytes(base64) },
  {
    shape: 'of_fourteen_instructions',
    make: (from) => {
      const all = instructionsOf(from);
      const more = Array.from({ length: 14 - all.length }, () =>
        createOwn(from.expected.outputMint),
      );
      return transaction(
        draftOf(from, [...from.compute, ...more, ...all.slice(from.compute.length)]),
      );
    },
  },
  {
    shape: 'swap_alone',
    directions: ['usdc-usdt', 'pyusd-usdc'],
    make: (from) => transaction(draftOf(from, [from.swap])),
  },
  {
    shape: 'guarded',
    directions: ['usdc-usdt', 'usdc-pyusd', 'pyusd-usdc', 'usdc-wsol'],
    make: (from) => {
      const { inputMint, inputProgram, outputMint, outputProgram, minOut } = from.expected;
      const guard = [
        ...guarding(inputMint, inputProgram, 1n),
        ...guarding(outputMint, outputProgram, minOut),
      ];
      return adding('after', () => [...guard, transferSol(WALLET, WALLET, 1_900_000_000n)])(from);
    },
  },
];

/** Legitimate transactions of Jupiter and wallets, in all their variety. */
export const legitimate: readonly SwapCase[] = [
  ...asReturned,
  ...shapes([
    ...compute,
    ...creations,
    ...wraps,
    ...temporaries,
    ...states,
    ...swaps,
    ...lookups,
    ...whole,
  ]),
];
