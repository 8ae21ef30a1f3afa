import { cleanText, PolicyError } from '../errors.js';
import { WSOL_MINT } from '../network.js';
import type { CapRules, Spend } from './caps.js';
import { exceededCap, refusingList, valuesOf, type ListedOffer } from './check-payment.js';
import { costOf, costParts, inUnit, amountInUnit, type Cost } from './cost.js';
import { plainHost } from './hosts.js';
import type { List, ListRules } from './lists.js';
import { USD, USD_OF_FEES, USD_OF_SWAPS } from './units.js';

/**
 * Checks a spend, with all that its swaps take, against the caps on a single payment. Returns the
 * refusal (`amount_over_limit`, `price_unknown`), or undefined if the payment may go on.
 */
export function checkPayment(
  policy: Omit<CapRules, 'caps'>,
  spend: Spend,
): PolicyError<'amount_over_limit' | 'price_unknown'> | undefined {
  const { mint } = spend;
  const over = exceededCap(policy, spend);
  if (over === undefined) return undefined;
  if (over === 'unpriced') {
    // SOL soon has a route again, and so a price.
    const isSol = mint === WSOL_MINT;
    return new PolicyError(
      'price_unknown',
      `No price is known for mint ${mint}, so no dollar cap can hold. ${isSol ? 'Try again, or set' : 'Set'} policy.maxAmount for it, in base units, to allow payments.`,
      { details: { mint }, retry: isSol ? 'fresh' : 'never' },
    );
  }
  const { name, unit, limit } = over;
  const cost = costOf(spend, true);
  const taken = cost.get(unit) ?? 0n;
  return new PolicyError(
    'amount_over_limit',
    `${describeCost(spend, cost, unit, taken)} is above policy.${name} of ${amountInUnit(unit, limit)}. Raise it to allow the payment.`,
    { details: { cap: name, limit: inUnit(unit, limit), amount: inUnit(unit, taken), unit } },
  );
}

export function assertPayable(policy: Omit<CapRules, 'caps'>, spend: Spend): void {
  const refusal = checkPayment(policy, spend);
  if (refusal !== undefined) throw refusal;
}

/** Returns a cost with its parts, as the beginning of a sentence. */
function describeCost(
  { swapped, swapping, host }: Spend,
  cost: Cost,
  unit: string,
  taken: bigint,
): string {
  const price = amountInUnit(unit, taken);
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

/**
 * Checks a host against the lists, before the client reads what the host asks for. Returns the
 * refusal (`not_allowed`), or undefined.
 */
export function checkPlace(
  policy: ListRules,
  host: string,
): PolicyError<'not_allowed'> | undefined {
  const hosts = plainHost(host);
  return refusedBy(refusingList(policy, { hosts }), hosts);
}

export function checkOffer(
  policy: ListRules,
  offer: ListedOffer,
): PolicyError<'not_allowed'> | undefined {
  const values = valuesOf(offer);
  const list = refusingList(policy, values);
  return refusedBy(list, list && values[list.kind]);
}

function refusedBy(
  list: List | undefined,
  value: string | undefined,
): PolicyError<'not_allowed'> | undefined {
  if (list === undefined || value === undefined) return undefined;
  const { name, allows } = list;
  return new PolicyError(
    'not_allowed',
    `Refused by policy.${name}, which ${allows ? 'does not name' : 'names'} what is in details.value. Change the list to allow it.`,
    { details: { list: name, value: cleanText(value) } },
  );
}
