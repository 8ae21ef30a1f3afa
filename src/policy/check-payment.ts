import { PolicyError } from '../errors.js';
import { countingOf, type Cap, type CapRules, type Spend } from './caps.js';
import { costOf, type Cost } from './cost.js';
import { costParts, inUnit, sayIn } from './unit-text.js';
import { USD, USD_OF_FEES, USD_OF_SWAPS } from './units.js';

/**
 * The caps on a single payment, with all that its swaps take. Returns the refusal
 * (`amount_over_limit`, `price_unknown`), or undefined if it may go on.
 */
export function checkPayment(
  { maxAmount, maxPerPayment, perPayment }: Omit<CapRules, 'caps'>,
  spend: Spend,
): PolicyError<'amount_over_limit' | 'price_unknown'> | undefined {
  const { mint } = spend;
  const caps: readonly Cap[] = [
    ...[...maxAmount].map(([unit, limit]) => ({ name: 'maxAmount', unit, limit })),
    { name: 'maxPerPayment', unit: USD, limit: maxPerPayment },
    ...countingOf(perPayment, spend),
  ];
  const cost = costOf(spend, true);
  const over = caps.find(({ unit, limit }) => (cost.get(unit) ?? 0n) > limit);
  if (over !== undefined) {
    const { name, unit, limit } = over;
    const taken = cost.get(unit) ?? 0n;
    return new PolicyError(
      'amount_over_limit',
      `${describeCost(spend, cost, unit, taken)} is above policy.${name} of ${sayIn(unit, limit)}. Raise it to allow the payment.`,
      { details: { cap: name, limit: inUnit(unit, limit), amount: inUnit(unit, taken), unit } },
    );
  }
  if (spend.microUsd !== undefined || caps.some(({ unit }) => unit === mint)) return undefined;
  return new PolicyError(
    'price_unknown',
    `No price is known for mint ${mint}, so no dollar cap can hold. Set policy.maxAmount for it, in base units, to allow payments.`,
    { details: { mint } },
  );
}

/** A cost with what it is made of, as the beginning of a sentence. */
function describeCost(
  { swapped, swapping, host }: Spend,
  cost: Cost,
  unit: string,
  taken: bigint,
): string {
  const price = sayIn(unit, taken);
  if (swapped === undefined && swapping === undefined)
    return `The price of ${price}${host && ` at ${host}`}`;
  const leaves = `What leaves for the payment, ${price}`;
  if (unit !== USD) return `${leaves} with its swap,`;
  const parts = costParts(
    taken,
    [USD_OF_SWAPS, USD_OF_FEES].map((part) => cost.get(part) ?? 0n),
  );
  return (
    `${leaves} ` +
    `(price ${parts.payments}, swap ${parts.swaps}, network fees and rent ${parts.fees}),`
  );
}
