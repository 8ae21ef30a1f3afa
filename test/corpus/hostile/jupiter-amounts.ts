import type { Base } from '../bases.js';
import { family, formsWhere, changingTerms, type Attack } from '../case.js';
import type { Terms } from '../forms.js';

const ALL = 2n ** 64n - 1n;

const exactIn = formsWhere(({ mode }) => mode === 'ExactIn');
const exactOut = formsWhere(({ mode }) => mode === 'ExactOut');
const v2 = formsWhere(({ version }) => version === 2);

const says = (
  attack: string,
  rule: string,
  change: (terms: Terms, base: Base) => Partial<Terms>,
  forms?: Attack['forms'],
): Attack => ({
  ...{ attack, rule, make: changingTerms(change) },
  ...(forms === undefined ? {} : { forms }),
});

/** Changes the input amount, at the place of the form. */
const input = (attack: string, change: (amount: bigint) => bigint): Attack[] => [
  says(attack, 'swap_max_in', ({ exact }) => ({ exact: change(exact) }), exactIn),
  says(`${attack}_quoted`, 'swap_max_in', ({ quoted }) => ({ quoted: change(quoted) }), exactOut),
];
const output = (attack: string, change: (amount: bigint) => bigint): Attack[] => [
  says(`${attack}_quoted`, 'swap_min_out', ({ quoted }) => ({ quoted: change(quoted) }), exactIn),
  says(attack, 'swap_min_out', ({ exact }) => ({ exact: change(exact) }), exactOut),
];

const amounts: readonly Attack[] = [
  ...input('jup_in_more', (amount) => amount + 1n),
  ...input('jup_in_twice', (amount) => amount * 2n),
  ...input('quote_times_100', (amount) => amount * 100n),
  ...input('jup_in_all', () => ALL),
  ...input('jup_in_0', () => 0n),
  ...output('jup_minout_less', (amount) => amount - 2n),
  ...output('jup_minout_half', (amount) => amount / 2n),
  ...output('jup_minout_1', () => 1n),
  ...output('jup_minout_0', () => 0n),
];

const slips = (attack: string, slippageBps: number): Attack[] => [
  says(attack, 'swap_min_out', () => ({ slippageBps }), exactIn),
  says(attack, 'swap_max_in', () => ({ slippageBps }), exactOut),
];

/** Sets more slippage than agreed, with a quote so good that the bounds still hold. */
const slipsWithin = (attack: string, slippageBps: number, room: bigint): Attack[] => [
  says(attack, 'swap_slippage', ({ quoted }) => ({ slippageBps, quoted: quoted * room }), exactIn),
  says(attack, 'swap_slippage', ({ quoted }) => ({ slippageBps, quoted: quoted / room }), exactOut),
];

const slippages: readonly Attack[] = [
  ...slips('jup_slip_51', 51),
  ...slips('jup_slip_half', 5_000),
  ...slips('jup_slip_100', 10_000),
  ...slips('jup_slip_u16_max', 65_535),
  ...slipsWithin('jup_slip_51_on_twice_the_quote', 51, 2n),
  ...slipsWithin('jup_slip_half_on_four_times_the_quote', 5_000, 4n),
  ...slipsWithin('jup_slip_90_on_twenty_times_the_quote', 9_000, 20n),
];

const fees: readonly Attack[] = [
  says('jup_fee_1', 'platform_fee', () => ({ platformFeeBps: 1 })),
  says('jup_fee_255', 'platform_fee', () => ({ platformFeeBps: 255 })),
  says('jup_fee_u16_max', 'platform_fee', () => ({ platformFeeBps: 65_535 }), v2),
  // The lower byte of 256 is zero.
  says('jup_fee_256', 'platform_fee', () => ({ platformFeeBps: 256 }), v2),
  says('jup_positive_slippage_1', 'positive_slippage', () => ({ positiveSlippageBps: 1 }), v2),
  says('jup_positive_slippage_256', 'positive_slippage', () => ({ positiveSlippageBps: 256 }), v2),
  says(
    'jup_positive_slippage_all',
    'positive_slippage',
    () => ({ positiveSlippageBps: 10_000 }),
    v2,
  ),
];

export const jupiterAmounts = family('jupiter-amounts', 'refused', [
  ...amounts,
  ...slippages,
  ...fees,
]);
