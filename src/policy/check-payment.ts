import { sellersNetwork } from '../network.js';
import { capsFor, type Cap, type CapRules, type Spend } from './caps.js';
import { costOf } from './cost.js';
import { plainHost, portless } from './hosts.js';
import type { Kind, List, ListRules } from './lists.js';
import { USD } from './units.js';

/**
 * Returns the cap on a single payment that a spend exceeds, with all that its swaps take;
 * `unpriced` if no cap can hold. Undefined if the payment may go on. `refusals.ts` has the words.
 */
export function exceededCap(
  { maxAmount, maxPerPayment, perPayment }: Omit<CapRules, 'caps'>,
  spend: Spend,
): Cap | 'unpriced' | undefined {
  const caps: readonly Cap[] = [
    ...[...maxAmount].map(([unit, limit]) => ({ name: 'maxAmount', unit, limit })),
    { name: 'maxPerPayment', unit: USD, limit: maxPerPayment },
    ...capsFor({ caps: perPayment }, spend),
  ];
  const cost = costOf(spend, true);
  const over = caps.find(({ unit, limit }) => (cost.get(unit) ?? 0n) > limit);
  if (over !== undefined) return over;
  return spend.microUsd !== undefined || caps.some(({ unit }) => unit === spend.mint)
    ? undefined
    : 'unpriced';
}

export interface ListedOffer {
  readonly payTo: string;
  readonly mint: string;
  readonly network: string;
  readonly scheme: string;
}

type Values = Readonly<Partial<Record<Kind, string>>>;

export function valuesOf({ payTo, mint, network, scheme }: ListedOffer): Values {
  return {
    payees: payTo,
    mints: mint,
    networks: sellersNetwork(network) ?? network,
    schemes: scheme.trim().toLowerCase(),
  };
}

/** Whether the lists refuse a host, before the client reads what the host asks for. */
export function isRefusedPlace(policy: ListRules, host: string): boolean {
  return refusingList(policy, { hosts: plainHost(host) }) !== undefined;
}

export function isRefusedOffer(policy: ListRules, offer: ListedOffer): boolean {
  return refusingList(policy, valuesOf(offer)) !== undefined;
}

/** Returns the first list that refuses a value; a host is in the form of {@link plainHost}. */
export function refusingList({ lists }: ListRules, values: Values): List | undefined {
  return lists.find(({ allows, kind, entries }) => {
    const value = values[kind];
    if (value === undefined) return false;
    const isNamed = entries.some((entry) =>
      kind === 'hosts' ? namesHost(entry, value) : entry === value,
    );
    return isNamed !== allows;
  });
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
