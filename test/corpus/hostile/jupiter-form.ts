import { concat, u32 } from '../accounts.js';
import { ATTACKER, MINTS, PROGRAMS, WALLET, own, theirs } from '../addresses.js';
import { draftOf, instructionsOf, withTerms, type Base } from '../bases.js';
import { transaction } from '../build.js';
import {
  adding,
  breakingRule,
  family,
  formsWhere,
  replacing,
  changingTerms,
  type Attack,
} from '../case.js';
import {
  FORMS,
  RAYDIUM,
  WHIRLPOOL,
  discriminator,
  numbersV1,
  routePlan,
  type FormName,
} from '../forms.js';
import {
  fromHex,
  instruction,
  readonly,
  signer,
  writable,
  type FilledInstruction,
} from '../instructions.js';

const V1 = formsWhere(({ version }) => version === 1);
const V2 = formsWhere(({ version }) => version === 2);

const withData = (change: (data: Uint8Array, base: Base) => Uint8Array) =>
  replacing((from) => ({ swap: { ...from.swap, data: change(from.swap.data, from) } }));
const withAccounts = (
  change: (accounts: FilledInstruction['accounts'], base: Base) => FilledInstruction['accounts'],
) => replacing((from) => ({ swap: { ...from.swap, accounts: change(from.swap.accounts, from) } }));

/** Other instructions of Jupiter's program. */
const OTHER_INSTRUCTIONS = [
  ...[
    'route_with_token_ledger',
    'shared_accounts_route_with_token_ledger',
    'set_token_ledger',
    'create_token_ledger',
  ],
  ...[
    'claim',
    'claim_token',
    'close_token',
    'create_token_account',
    'create_open_orders',
    'create_program_open_orders',
  ],
  ...[
    'create_idempotent_associated_token_account',
    'close_wsol_token_account',
    'withdraw_token_account_excess_lamports',
  ],
  ...['exact_out_route_with_token_ledger', 'route_v3', 'drain'],
];

const formless = breakingRule('jupiter_form');
const forms: readonly Attack[] = [
  ...OTHER_INSTRUCTIONS.map((name) =>
    formless(
      `jup_${name}`,
      withData((data) => concat(discriminator(name), data.slice(8))),
    ),
  ),
  formless(
    'jup_unknown_ix',
    withData((data) => concat([1, 2, 3, 4, 5, 6, 7, 8], data.slice(8))),
  ),
  formless(
    'jup_event_cpi',
    withData((data) => concat(fromHex('e445a52e51cb9a1d'), data.slice(8))),
  ),
  formless(
    'jup_one_bit_off',
    withData((data) => concat([(data[0] ?? 0) ^ 1], data.slice(1))),
  ),
  formless(
    'jup_seven_bytes',
    withData((data) => data.slice(0, 7)),
  ),
  formless(
    'jup_without_data',
    withData(() => new Uint8Array()),
  ),
  formless(
    'jup_data_shifted',
    withData((data) => concat([0], data)),
  ),
];

/** Changes only the bytes of the route plan. */
const planned = (attack: string, plan: (honest: Uint8Array) => Uint8Array): Attack => ({
  ...{ attack, rule: 'jupiter_plan', forms: V1 },
  make: changingTerms(({ plan: honest }) => ({ plan: plan(honest) })),
});

/**
 * Puts a theft's numbers behind the plan, where the program reads them, and the honest numbers at
 * the very end, to deceive a decoder that reads from the end.
 */
function shadow(
  from: Base,
  plan: (honest: Uint8Array) => Uint8Array = (honest) => honest,
): Uint8Array {
  const theft = withTerms(from, (terms) => ({
    exact: terms.exact * 1_000n,
    quoted: 1n,
    slippageBps: 10_000,
    plan: plan(terms.plan),
  }));
  const swap = { ...theft.swap, data: concat(theft.swap.data, numbersV1(from.terms)) };
  return transaction(draftOf({ ...theft, swap }));
}

const planless = breakingRule('jupiter_plan', { forms: V1 });
const plans: readonly Attack[] = [
  planless('jup_shadow_tail', (from) => shadow(from)),
  planless('jup_shadow_tail_of_no_steps', (from) => shadow(from, () => u32(0))),
  planless('jup_shadow_tail_of_two_steps', (from) =>
    shadow(from, () => routePlan(1, [RAYDIUM, WHIRLPOOL])),
  ),
  planless(
    'jup_tail_of_one_byte',
    withData((data) => concat(data, [0])),
  ),
  planless(
    'jup_numbers_cut',
    withData((data) => data.slice(0, -1)),
  ),
  planless(
    'jup_numbers_left_out',
    withData((data) => data.slice(0, -19)),
  ),
  planless(
    'jup_plan_left_out',
    withData((data, { form }) => data.slice(0, FORMS[form].shared ? 9 : 8)),
  ),
  planned('jup_plan_of_unknown_venue', () => routePlan(1, [{ swap: [250] }])),
  planned('jup_plan_of_latest_unknown_venue', () => routePlan(1, [{ swap: [255] }])),
  planned('jup_plan_one_step_less', (honest) => concat(u32(0), honest.slice(4))),
  planned('jup_plan_one_step_more', (honest) => concat(u32(2), honest.slice(4))),
  planned('jup_plan_of_all_steps', (honest) => concat(u32(2 ** 32 - 1), honest.slice(4))),
  // A bool is 0 or 1. The program refuses other values, so a decoder must refuse them too.
  planned('jup_plan_with_a_bool_of_2', () => routePlan(1, [{ swap: [17, 2] }])),
  planned('jup_plan_field_left_out', () => routePlan(1, [{ swap: [17] }])),
  planned('jup_plan_field_too_many', () => routePlan(1, [{ swap: [7, 1] }])),
  planned('jup_plan_of_v2_steps', () => routePlan(2, [RAYDIUM])),
];

const cut = breakingRule('jupiter_truncated');
const cutOfV2 = breakingRule('jupiter_truncated', { forms: V2 });
const crowded = breakingRule('swap_accounts');
const truncations: readonly Attack[] = [
  cutOfV2(
    'jup_v2_numbers_cut',
    withData((data, { form }) => data.slice(0, FORMS[form].shared ? 30 : 29)),
  ),
  cutOfV2(
    'jup_v2_plan_left_out',
    withData((data, { form }) => data.slice(0, FORMS[form].shared ? 31 : 30)),
  ),
  cutOfV2(
    'jup_discriminator_alone',
    withData((data) => data.slice(0, 8)),
  ),
  cut(
    'jup_accounts_cut',
    withAccounts((accounts, { form }) => accounts.slice(0, FORMS[form].places.length - 1)),
  ),
  cut(
    'jup_one_account',
    withAccounts((accounts) => accounts.slice(0, 1)),
  ),
  cut(
    'jup_no_accounts',
    withAccounts(() => []),
  ),
  crowded(
    'jup_129_accounts',
    withAccounts((accounts) => [
      ...accounts,
      ...Array.from({ length: 129 - accounts.length }, () => readonly(PROGRAMS.jupiter)),
    ]),
  ),
  crowded(
    'jup_255_accounts',
    withAccounts((accounts) => [
      ...accounts,
      ...Array.from({ length: 255 - accounts.length }, () => signer(WALLET)),
    ]),
  ),
];

/** Gives a form the discriminator of another form, with the data and accounts of the first form. */
const disguised = (attack: string, rule: string, from: FormName, as: FormName): Attack => ({
  ...{ attack, rule, forms: [from] },
  make: withData((data) => concat(FORMS[as].discriminator, data.slice(8))),
});

const confusions: readonly Attack[] = [
  disguised('jup_v2_as_v1', 'jupiter_plan', 'route_v2', 'route'),
  disguised(
    'jup_shared_v2_as_v1',
    'jupiter_plan',
    'shared_accounts_route_v2',
    'shared_accounts_route',
  ),
  disguised('jup_v1_as_v2', 'jupiter_event_authority', 'route', 'route_v2'),
  disguised(
    'jup_shared_v1_as_v2',
    'jupiter_event_authority',
    'shared_accounts_route',
    'shared_accounts_route_v2',
  ),
  disguised(
    'jup_plain_as_shared',
    'jupiter_event_authority',
    'route_v2',
    'shared_accounts_route_v2',
  ),
  disguised(
    'jup_shared_as_plain',
    'jupiter_event_authority',
    'shared_accounts_exact_out_route_v2',
    'exact_out_route_v2',
  ),
  disguised('jup_exact_out_as_in', 'jupiter_event_authority', 'exact_out_route', 'route'),
];

const notOne = breakingRule('one_swap');
/** A second swap, within the bounds or without bounds. */
const seconds: readonly Attack[] = [
  notOne(
    'jup_twice',
    adding('after', ({ swap }) => [swap]),
  ),
  notOne(
    'jup_twice_in_front',
    adding('before', ({ swap }) => [swap]),
  ),
  notOne(
    'jup_second_to_evil',
    adding('after', (from) => [
      withTerms(from, ({ accounts }) => ({
        accounts: { ...accounts, destination: theirs(from.expected.outputMint) },
      })).swap,
    ]),
  ),
  notOne(
    'jup_second_claim',
    adding('after', () => [
      instruction(
        PROGRAMS.jupiter,
        [signer(WALLET), writable(ATTACKER)],
        concat(discriminator('claim'), [0]),
      ),
    ]),
  ),
  notOne(
    'jup_ledger_before_the_swap',
    adding('before', () => [
      instruction(
        PROGRAMS.jupiter,
        [writable(ATTACKER), writable(own(MINTS.usdc))],
        discriminator('set_token_ledger'),
      ),
    ]),
  ),
  notOne(
    'jup_second_without_data',
    adding('after', () => [instruction(PROGRAMS.jupiter, [signer(WALLET)])]),
  ),
  notOne('jup_none', (from) =>
    transaction(
      draftOf(
        from,
        instructionsOf(from).filter((one) => one !== from.swap),
      ),
    ),
  ),
  notOne(
    'jup_by_another_program',
    replacing(({ swap }) => ({ swap: { ...swap, programAddress: PROGRAMS.jupiterV4 } })),
  ),
];

export const jupiterForm = family('jupiter-form', 'refused', [
  ...forms,
  ...plans,
  ...truncations,
  ...confusions,
  ...seconds,
]);
