import { counts, type Cap } from '../policy/caps.js';
import type { Cost } from '../policy/cost.js';
import { plainHost, portless } from '../policy/hosts.js';
import { ownerName, placeName, type CapScope } from './attempt-names.js';
import { createSpentSums, type SpentPeriod, type SpentSums } from './spent-sums.js';
import type { Owner } from './types.js';

/** What left at a place over time, by unit. */
export interface SpentAt extends CapScope {
  readonly spent: Readonly<Record<string, readonly SpentPeriod[]>>;
}

/** What the attempts of all owners took, as sums: no attempt has to be kept for it. */
export interface Spending {
  add(place: CapScope, at: number, cost: Cost): void;
  /** Takes back what was added at the same place and time. */
  subtract(place: CapScope, at: number, cost: Cost): void;
  /** What counts in a cap's window that begins after a moment. */
  since(owner: Owner, cap: Cap, moment: number): bigint;
  content(): SpentAt[];
  restore(spent: SpentAt): void;
}

type Sums = Map<string, SpentSums>;

interface OwnSpending {
  /** Of all places together. */
  readonly all: Sums;
  readonly places: Map<string, { readonly place: CapScope; readonly sums: Sums }>;
  /** Names of places by host, with and without its port. */
  readonly hosts: Map<string, Set<string>>;
}

export function createSpending(): Spending {
  const owners = new Map<string, OwnSpending>();

  const ownOf = (owner: Owner): OwnSpending =>
    entry(owners, ownerName(owner), () => ({
      all: new Map(),
      places: new Map(),
      hosts: new Map(),
    }));
  const sumsAt = (own: OwnSpending, name: string, at: CapScope): Sums => {
    const known = own.places.get(name);
    if (known !== undefined) return known.sums;
    const { wallet, network, host, payTo, mint } = at;
    for (const one of hostsOf(at)) entry(own.hosts, one, () => new Set()).add(name);
    const sums: Sums = new Map();
    own.places.set(name, { place: { wallet, network, host, payTo, mint }, sums });
    return sums;
  };
  const subtractFrom = (sums: Sums, at: number, cost: Cost): void => {
    for (const [unit, value] of cost) {
      const sum = sums.get(unit);
      sum?.subtract(at, value);
      if (sum?.isEmpty === true) sums.delete(unit);
    }
  };
  const sumOf = (sums: Sums, unit: string) => entry(sums, unit, createSpentSums);

  return {
    add(place, at, cost) {
      if (cost.size === 0) return;
      const own = ownOf(place);
      for (const sums of [own.all, sumsAt(own, placeName(place), place)])
        for (const [unit, value] of cost) sumOf(sums, unit).add(at, value);
    },
    subtract(place, at, cost) {
      if (cost.size === 0) return;
      const [own, name] = [ownOf(place), placeName(place)];
      const sums = sumsAt(own, name, place);
      subtractFrom(own.all, at, cost);
      subtractFrom(sums, at, cost);
      if (sums.size > 0) return;
      own.places.delete(name);
      for (const host of hostsOf(place)) {
        const names = own.hosts.get(host);
        names?.delete(name);
        if (names?.size === 0) own.hosts.delete(host);
      }
    },
    since(owner, cap, moment) {
      const { unit, host, payTo, mint } = cap;
      const own = owners.get(ownerName(owner));
      if (own === undefined) return 0n;
      if (host === undefined && payTo === undefined && (mint === undefined || mint === unit))
        return own.all.get(unit)?.since(moment) ?? 0n;
      const names = host === undefined ? own.places.keys() : (own.hosts.get(host) ?? []);
      let sum = 0n;
      for (const name of names) {
        const at = own.places.get(name);
        if (at !== undefined && counts(cap, at.place))
          sum += at.sums.get(unit)?.since(moment) ?? 0n;
      }
      return sum;
    },
    content: () =>
      [...owners.values()].flatMap(({ places }) =>
        [...places.values()].map(({ place, sums }) => {
          const spent = [...sums].map(([unit, sum]) => [unit, sum.periods()] as const);
          return { ...place, spent: Object.fromEntries(spent) };
        }),
      ),
    restore(given) {
      const own = ownOf(given);
      for (const sums of [own.all, sumsAt(own, placeName(given), given)])
        for (const [unit, periods] of Object.entries(given.spent))
          for (const period of periods) sumOf(sums, unit).restore(period);
    },
  };
}

function hostsOf({ host }: CapScope): readonly string[] {
  return [plainHost(host), portless(host)];
}

function entry<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}
