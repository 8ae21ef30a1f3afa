import { cleanText, PolicyError } from '../errors.js';
import { toNetwork } from '../network.js';
import { countingOf, type Cap, type CapRules, type Spend } from './caps.js';
import { costOf, costParts, inUnit, sayIn, type Cost } from './cost.js';
import { plainHost, portless } from './hosts.js';
import type { Kind, ListRules } from './lists.js';
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

/**
 * Whether the lists let a host be paid, before anything that it asks for is looked at. Returns the
 * refusal (`not_allowed`), or undefined.
 */
export function checkPlace(
  policy: ListRules,
  host: string,
): PolicyError<'not_allowed'> | undefined {
  return refusedBy(policy, { hosts: plainHost(host) });
}

/** Whether the lists let an offer be paid. Returns the refusal (`not_allowed`), or undefined. */
export function checkOffer(
  policy: ListRules,
  {
    payTo,
    mint,
    network,
    scheme,
  }: {
    readonly payTo: string;
    readonly mint: string;
    readonly network: string;
    readonly scheme: string;
  },
): PolicyError<'not_allowed'> | undefined {
  return refusedBy(policy, {
    payees: payTo,
    mints: mint,
    networks: toNetwork(network) ?? network,
    schemes: scheme.trim().toLowerCase(),
  });
}

function refusedBy(
  { lists }: ListRules,
  values: Readonly<Partial<Record<Kind, string>>>,
): PolicyError<'not_allowed'> | undefined {
  for (const { name, allows, kind, entries } of lists) {
    const value = values[kind];
    if (
      value === undefined ||
      entries.some((entry) => (kind === 'hosts' ? namesHost(entry, value) : entry === value)) ===
        allows
    )
      continue;
    return new PolicyError(
      'not_allowed',
      `Refused by policy.${name}, which ${allows ? 'does not name' : 'names'} what is in details.value. Change the list to allow it.`,
      { details: { list: name, value: cleanText(value) } },
    );
  }
  return undefined;
}

/**
 * Whether an entry of a list, as `readListedHost` gives it, names a host, as
 * {@link plainHost} gives it.
 */
function namesHost(entry: string, host: string): boolean {
  return [host, portless(host)].some((place) =>
    entry.startsWith('.') ? place.endsWith(entry) : place === entry,
  );
}
