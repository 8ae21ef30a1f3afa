import type { Address } from '@solana/kit';
import {
  ATTACKER,
  FAKE_MINTS,
  MINTS,
  OWN_PYUSD_OF_WRONG_PROGRAM,
  OWN_USDC_OF_WRONG_PROGRAM,
  OWN_USDT_OF_WRONG_PROGRAM,
  OWN_WSOL_OF_WRONG_PROGRAM,
  PROGRAMS,
  SHARED_AUTHORITY,
  WALLET,
  own,
  someKey,
  theirs,
} from '../addresses.js';
import { draftOf, withTerms, type Base, type Expectation } from '../bases.js';
import { transaction } from '../build.js';
import { family, formsWhere, changingAccounts, changingTerms, type Attack } from '../case.js';
import type { Place, Terms } from '../forms.js';
import { readonly, writable } from '../instructions.js';
import { EXPOSED, POOLS, TABLES, TABLE_ENTRIES } from '../world.js';

const { usdc, usdt, bonk, pyusd, wsol } = MINTS;

const has = (place: Place) => formsWhere(({ places }) => places.includes(place));

const breaking =
  (rule: string, options: Pick<Attack, 'forms' | 'directions'> = {}) =>
  (attack: string, accounts: (expected: Expectation) => Partial<Terms['accounts']>): Attack => ({
    ...{ attack, rule, ...options },
    make: changingAccounts(({ expected }) => accounts(expected)),
  });

const user = breaking('swap_user');
const users: readonly Attack[] = [
  user('jup_user_attacker', () => ({ user: ATTACKER })),
  user('jup_user_other_wallet', () => ({ user: someKey(250) })),
  user('jup_user_shared_authority', () => ({ user: SHARED_AUTHORITY })),
];

const source = breaking('swap_source');
const sources: readonly Attack[] = [
  source('jup_src_attackers', ({ inputMint }) => ({ source: theirs(inputMint) })),
  source('jup_src_third_account', () => ({ source: own(bonk) })),
  source('jup_src_auxiliary', () => ({ source: EXPOSED.auxiliary })),
  source('jup_src_delegated', () => ({ source: EXPOSED.delegated })),
  source('jup_src_is_the_output', ({ outputMint }) => ({ source: own(outputMint) })),
  source('jup_src_of_wrong_program', ({ inputMint }) => ({
    source: inputMint === wsol ? OWN_WSOL_OF_WRONG_PROGRAM : OWN_USDC_OF_WRONG_PROGRAM,
  })),
  source('jup_src_wallet', () => ({ source: WALLET })),
];

/** Returns the wallet's account for a mint, derived with the wrong token program. */
const ofWrongProgram = (mint: Address) =>
  new Map<Address, Address>([
    [usdc, OWN_USDC_OF_WRONG_PROGRAM],
    [wsol, OWN_WSOL_OF_WRONG_PROGRAM],
    [pyusd, OWN_PYUSD_OF_WRONG_PROGRAM],
  ]).get(mint) ?? OWN_USDT_OF_WRONG_PROGRAM;

const fakeOf = (mint: Address) =>
  new Map<Address, Address>([
    [usdc, FAKE_MINTS.usdc],
    [wsol, FAKE_MINTS.wsol],
    [pyusd, FAKE_MINTS.pyusd],
  ]).get(mint) ?? FAKE_MINTS.usdt;
/** Returns another mint for which the wallet has an account. */
const otherThan = (mint: Address) => (mint === usdt ? pyusd : usdt);

const destination = breaking('swap_destination');
const destinations: readonly Attack[] = [
  destination('jup_dst', ({ outputMint }) => ({ destination: theirs(outputMint) })),
  destination('jup_dst_third_account', () => ({ destination: own(bonk) })),
  destination('jup_dst_pool', () => ({ destination: POOLS.raydium.vaultOut })),
  destination('jup_dst_is_the_source', ({ inputMint }) => ({ destination: own(inputMint) })),
  destination('jup_dst_auxiliary', () => ({ destination: EXPOSED.auxiliary })),
  destination('jup_dst_of_wrong_program', ({ outputMint }) => ({
    destination: ofWrongProgram(outputMint),
  })),
  destination('jup_dst_wallet', () => ({ destination: WALLET })),
  // The whole swap brings another token: the account belongs to the wallet, but its mint is wrong.
  destination('quote_for_same_symbol', ({ outputMint }) => ({
    destination: own(fakeOf(outputMint)),
    destinationMint: fakeOf(outputMint),
  })),
  destination('quote_for_equal_decimals', ({ outputMint }) => ({
    destination: own(otherThan(outputMint)),
    destinationMint: otherThan(outputMint),
  })),
  { attack: 'jup_dst_from_lut', rule: 'swap_destination', make: throughTable },
];

/** Makes the honest swap, but a lookup table puts the attacker's account into a place of it. */
function throughTable(from: Base): Uint8Array {
  const swapped = withTerms(from, ({ accounts }) => ({
    accounts: { ...accounts, destination: theirs(usdt) },
  }));
  return transaction({
    ...draftOf(swapped),
    tables: { ...from.tables, [TABLES.attackers]: [...TABLE_ENTRIES.attackers] },
  });
}

const override = breaking('swap_destination_override', { forms: has('override') });
const overrides: readonly Attack[] = [
  override('jup_dst_opt', ({ outputMint }) => ({ override: theirs(outputMint) })),
  override('jup_dst_opt_third_account', () => ({ override: own(bonk) })),
  override('jup_dst_opt_source', ({ inputMint }) => ({ override: own(inputMint) })),
  override('jup_dst_opt_wallet', () => ({ override: WALLET })),
];

const input = breaking('swap_input_mint', { forms: has('sourceMint') });
const output = breaking('swap_output_mint');
const mints: readonly Attack[] = [
  input('jup_in_mint', () => ({ sourceMint: bonk })),
  input('jup_in_mint_same_symbol', ({ inputMint }) => ({ sourceMint: fakeOf(inputMint) })),
  input('jup_in_mint_is_the_output', ({ outputMint }) => ({ sourceMint: outputMint })),
  output('jup_mint', () => ({ destinationMint: bonk })),
  output('jup_mint_same_symbol', ({ outputMint }) => ({ destinationMint: fakeOf(outputMint) })),
  output('jup_mint_equal_decimals', ({ outputMint }) => ({
    destinationMint: otherThan(outputMint),
  })),
  output('jup_mint_is_the_input', ({ inputMint }) => ({ destinationMint: inputMint })),
];

const otherProgram = (program: Address) =>
  program === PROGRAMS.token ? PROGRAMS.token2022 : PROGRAMS.token;
const FOREIGN = someKey(252);

const inputProgram = (place: Place) => breaking('swap_input_program', { forms: has(place) });
const outputProgram = breaking('swap_output_program', { forms: has('destinationProgram') });
const programs: readonly Attack[] = [
  inputProgram('sourceProgram')('jup_in_program', () => ({ sourceProgram: FOREIGN })),
  inputProgram('sourceProgram')('jup_in_program_the_other', (expected) => ({
    sourceProgram: otherProgram(expected.inputProgram),
  })),
  outputProgram('jup_out_program', () => ({ destinationProgram: FOREIGN })),
  outputProgram('jup_out_program_the_other', (expected) => ({
    destinationProgram: otherProgram(expected.outputProgram),
  })),
  // V1 forms name a single token program for both sides; some also name Token-2022.
  inputProgram('tokenProgram')('jup_token_program', () => ({ tokenProgram: FOREIGN })),
  inputProgram('token2022')('jup_token_2022_program', () => ({ token2022: FOREIGN })),
];

const fee = breaking('fee_account', { forms: has('fee') });
const fees: readonly Attack[] = [
  fee('jup_fee_acct', ({ outputMint }) => ({ fee: theirs(outputMint) })),
  fee('jup_fee_acct_of_the_input', ({ inputMint }) => ({ fee: theirs(inputMint) })),
  fee('jup_fee_acct_own', () => ({ fee: own(bonk) })),
  {
    ...{ attack: 'two_fee_accounts', rule: 'fee_account', forms: has('fee') },
    make: changingTerms(({ accounts, venues }, { expected }) => ({
      accounts: { ...accounts, fee: theirs(expected.outputMint) },
      venues: [...venues, writable(theirs(expected.inputMint))],
    })),
  },
  {
    // V2 forms have no place for a fee account, so it stands among the accounts of the venues. The
    // fee itself breaks a rule.
    ...{
      attack: 'two_fee_accounts_among_the_venues',
      rule: 'platform_fee',
      forms: formsWhere(({ version }) => version === 2),
    },
    make: changingTerms(({ venues }, { expected }) => ({
      platformFeeBps: 50,
      venues: [
        ...venues,
        writable(theirs(expected.outputMint)),
        writable(theirs(expected.inputMint)),
      ],
    })),
  },
];

const event = breaking('jupiter_event_authority');
const events: readonly Attack[] = [
  event('jup_event_authority', () => ({ event: ATTACKER })),
  event('jup_program_account', () => ({ self: FOREIGN })),
  event('jup_event_and_program', () => ({ event: ATTACKER, self: PROGRAMS.raydium })),
  {
    attack: 'jup_accounts_shifted',
    rule: 'jupiter_event_authority',
    // An extra account before the event authority shifts the accounts that the program reads.
    make: (from) => {
      const at = from.swap.accounts.findIndex(
        ({ address }) => address === from.terms.accounts.event,
      );
      const accounts = [
        ...from.swap.accounts.slice(0, at),
        readonly(ATTACKER),
        ...from.swap.accounts.slice(at),
      ];
      return transaction(draftOf({ ...from, swap: { ...from.swap, accounts } }));
    },
  },
];

export const jupiterAccounts = family('jupiter-accounts', 'refused', [
  ...users,
  ...sources,
  ...destinations,
  ...overrides,
  ...mints,
  ...programs,
  ...fees,
  ...events,
]);
