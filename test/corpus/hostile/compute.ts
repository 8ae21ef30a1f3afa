import { concat, u32, u64 } from '../accounts.js';
import { ATTACKER, WALLET } from '../addresses.js';
import { adding, family, replacing, type Attack } from '../case.js';
import {
  computeBudget,
  readonly,
  unitLimit,
  unitPrice,
  writable,
  type FilledInstruction,
} from '../instructions.js';

const LIMIT = unitLimit(77_426);
const PRICE = unitPrice(161_977n);
const MOST_UNITS = 1_400_000;

const composing =
  (rule: string) =>
  (attack: string, ...compute: readonly FilledInstruction[]): Attack => ({
    ...{ attack, rule, make: replacing(() => ({ compute })) },
  });
const instead = composing('compute_budget');
const paying = composing('priority_fee');

const budgets: readonly Attack[] = [
  instead('dup_cb_limit', LIMIT, PRICE, LIMIT),
  instead('dup_cb_price', LIMIT, PRICE, PRICE),
  {
    attack: 'dup_cb_price_after_the_swap',
    rule: 'compute_budget',
    make: adding('after', () => [unitPrice(1n)]),
  },
  instead('limit_0', unitLimit(0), PRICE),
  instead('limit_above_all', unitLimit(MOST_UNITS + 1), PRICE),
  instead('limit_u32_max', unitLimit(2 ** 32 - 1), unitPrice(0n)),
  instead('limit_truncated', computeBudget([2, 0, 0, 1]), PRICE),
  instead('limit_with_a_tail', computeBudget(concat(LIMIT.data, [0])), PRICE),
  instead('limit_with_an_account', computeBudget(LIMIT.data, [writable(ATTACKER)]), PRICE),
  instead('limit_without_a_number', computeBudget([2]), PRICE),
  instead('price_truncated', LIMIT, computeBudget([3, 1, 0, 0, 0])),
  instead('price_with_a_tail', LIMIT, computeBudget(concat(PRICE.data, [0]))),
  instead('price_with_the_wallet', LIMIT, computeBudget(PRICE.data, [readonly(WALLET)])),
  instead('request_units_of_old', computeBudget(concat([0], u32(MOST_UNITS), u32(1_000_000_000)))),
  instead('heap_frame', LIMIT, PRICE, computeBudget(concat([1], u32(256 * 1024)))),
  instead('loaded_accounts_size', LIMIT, PRICE, computeBudget(concat([4], u32(1)))),
  instead('unknown', LIMIT, PRICE, computeBudget([5])),
  instead('without_data', LIMIT, PRICE, computeBudget([])),
];

// Prices are micro-lamports per compute unit.
const fees: readonly Attack[] = [
  paying('prio_fee', unitLimit(MOST_UNITS), unitPrice(1_000_000_000n)),
  paying('prio_fee_all_there_is', unitLimit(MOST_UNITS), unitPrice(2n ** 64n - 1n)),
  paying('prio_fee_of_one_lamport_more', unitLimit(1_000_000), unitPrice(100_001n)),
  paying('prio_fee_without_a_limit', unitPrice(1_000_000_000n)),
  paying('prio_fee_of_few_units', unitLimit(1), unitPrice(2n ** 62n)),
  paying(
    'prio_fee_before_the_limit',
    computeBudget(concat([3], u64(10n ** 12n))),
    unitLimit(MOST_UNITS),
  ),
];

export const compute = family('compute', 'defused', [...budgets, ...fees]);
