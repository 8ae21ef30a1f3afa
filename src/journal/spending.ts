import { capCounts, type Cap } from '../policy/caps.js';
import type { Cost } from '../policy/cost.js';
import { plainHost, portless } from '../policy/hosts.js';
import { DAY_MS, HOUR_MS } from '../policy/periods.js';
import { ownerName, placeName, type CapScope } from './attempt-names.js';
import type { Owner } from './types.js';

/** Amounts that left in one scope over time, by unit. */
export interface SpentAt extends CapScope {
  readonly spent: Readonly<Record<string, readonly SpentPeriod[]>>;
}

/** Sums of the costs of all owners' attempts, so that no attempt has to be kept for them. */
export interface Spending {
  add(place: CapScope, at: number, cost: Cost): void;
  /** Takes back a cost that was added at the same place and time. */
  subtract(place: CapScope, at: number, cost: Cost): void;
  /**
   * Returns the amount that counts in a cap's window that begins after a moment.
   *
   * @param owner - The name that {@link ownerName} gives.
   */
  since(owner: string, cap: Cap, moment: number): bigint;
  content(): SpentAt[];
  restore(spent: SpentAt): void;
}

type Sums = Map<string, SpentSums>;

interface OwnerSpending {
  readonly total: Sums;
  readonly places: Map<string, { readonly place: CapScope; readonly sums: Sums }>;
  /** Names of places by host, with and without its port. */
  readonly hosts: Map<string, Set<string>>;
}

export function createSpending(): Spending {
  const owners = new Map<string, OwnerSpending>();

  const spendingOf = (owner: Owner): OwnerSpending =>
    entry(owners, ownerName(owner), () => ({
      total: new Map(),
      places: new Map(),
      hosts: new Map(),
    }));
  const sumsAt = (spending: OwnerSpending, name: string, place: CapScope): Sums => {
    const known = spending.places.get(name);
    if (known !== undefined) return known.sums;
    const { wallet, network, host, payTo, mint } = place;
    for (const hostName of hostsOf(place))
      entry(spending.hosts, hostName, () => new Set()).add(name);
    const sums: Sums = new Map();
    spending.places.set(name, { place: { wallet, network, host, payTo, mint }, sums });
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
      const spending = spendingOf(place);
      for (const sums of [spending.total, sumsAt(spending, placeName(place), place)])
        for (const [unit, value] of cost) sumOf(sums, unit).add(at, value);
    },
    subtract(place, at, cost) {
      if (cost.size === 0) return;
      const [spending, name] = [spendingOf(place), placeName(place)];
      const sums = sumsAt(spending, name, place);
      subtractFrom(spending.total, at, cost);
      subtractFrom(sums, at, cost);
      if (sums.size > 0) return;
      spending.places.delete(name);
      for (const host of hostsOf(place)) {
        const names = spending.hosts.get(host);
        names?.delete(name);
        if (names?.size === 0) spending.hosts.delete(host);
      }
    },
    since(owner, cap, moment) {
      const { unit, host, payTo, mint } = cap;
      const spending = owners.get(owner);
      if (spending === undefined) return 0n;
      if (host === undefined && payTo === undefined && (mint === undefined || mint === unit))
        return spending.total.get(unit)?.since(moment) ?? 0n;
      const names = host === undefined ? spending.places.keys() : (spending.hosts.get(host) ?? []);
      let sum = 0n;
      for (const name of names) {
        const known = spending.places.get(name);
        if (known !== undefined && capCounts(cap, known.place))
          sum += known.sums.get(unit)?.since(moment) ?? 0n;
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
    restore(saved) {
      const spending = spendingOf(saved);
      for (const sums of [spending.total, sumsAt(spending, placeName(saved), saved)])
        for (const [unit, periods] of Object.entries(saved.spent))
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

const MINUTE_MS = 60 * 1000;

/**
 * Lengths of periods by the least age of their end, in milliseconds, the oldest first. Each length
 * is a multiple of the next.
 */
const LENGTHS: readonly (readonly [age: number, length: number])[] = [
  [64 * DAY_MS, 8 * DAY_MS],
  [2 * DAY_MS, 6 * HOUR_MS],
  [2 * HOUR_MS, 15 * MINUTE_MS],
  [2 * MINUTE_MS, MINUTE_MS],
];
const SHORTEST_MS = 1000;

/** Periods are merged when there are more than this, and twice as many as the last merge left. */
const FEWEST = 128;

/** The amount that left after `after` and until `until`. Milliseconds since the epoch. */
export interface SpentPeriod {
  readonly after: number;
  readonly until: number;
  readonly value: bigint;
}

/**
 * Sums of amounts of one unit, by period: the older the period, the longer. An amount counts until
 * its whole period is out of a window: up to a period longer, never shorter.
 */
export interface SpentSums {
  readonly isEmpty: boolean;
  add(at: number, value: bigint): void;
  subtract(at: number, value: bigint): void;
  since(moment: number): bigint;
  /** Returns the periods, the oldest first. */
  periods(): SpentPeriod[];
  restore(period: SpentPeriod): void;
}

export function createSpentSums(): SpentSums {
  // Three lists, because numbers in objects take twice the memory.
  let [afters, untils, values]: [number[], number[], bigint[]] = [[], [], []];
  let total = 0n;
  let most = FEWEST;

  /** Returns the place of the first period that fits; no period before it fits. */
  const placeOf = (fits: (until: number) => boolean): number => {
    let [low, high] = [0, untils.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (fits(untils[middle] ?? Infinity)) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  /** Adds to the period of a moment, or to a new period if the moment has none. */
  const change = (at: number, by: bigint, { after, until } = shortest(at)): void => {
    total += by;
    const place = placeOf((end) => end >= at);
    if (place < untils.length && (afters[place] ?? -Infinity) < at) {
      values[place] = (values[place] ?? 0n) + by;
      return;
    }
    // Cut the new period at its neighbours, so that periods never overlap.
    const from = Math.max(after, untils[place - 1] ?? after);
    const to = Math.min(until, afters[place] ?? until);
    afters.splice(place, 0, from);
    untils.splice(place, 0, to);
    values.splice(place, 0, by);
  };
  const periods = (): SpentPeriod[] =>
    untils.flatMap((until, place) => {
      const [after = 0, value = 0n] = [afters[place], values[place]];
      return value === 0n ? [] : [{ after, until, value }];
    });
  const coarsen = (now: number): void => {
    const finer = periods();
    [afters, untils, values] = [[], [], []];
    total = 0n;
    for (const { after, until, value } of finer) {
      const length = lengthAt(until, now);
      const end = Math.ceil(until / length) * length;
      // A period may be longer already, if the clock was set back.
      const isLonger = until - after > length;
      change(until, value, isLonger ? { after, until } : { after: end - length, until: end });
    }
    most = Math.max(FEWEST, 2 * untils.length);
  };
  const sum = (from: number, to: number): bigint => {
    let result = 0n;
    for (let place = from; place < to; place += 1) result += values[place] ?? 0n;
    return result;
  };

  return {
    get isEmpty() {
      return total === 0n;
    },
    add(at, value) {
      change(at, value);
      if (untils.length > most) coarsen(at);
    },
    subtract: (at, value) => change(at, -value),
    since(moment) {
      const place = placeOf((until) => until > moment);
      // Sum the shorter side, because most windows begin near an end of the list.
      return place < untils.length / 2 ? total - sum(0, place) : sum(place, untils.length);
    },
    periods,
    // Round to whole seconds, as `add` does.
    restore: ({ after, until, value }) =>
      change(until, value, { after: shortest(after + 1).after, until: shortest(until).until }),
  };
}

function shortest(at: number): { readonly after: number; readonly until: number } {
  const until = Math.ceil(at / SHORTEST_MS) * SHORTEST_MS;
  return { after: until - SHORTEST_MS, until };
}

/** Returns the length of a moment's period. A whole period must be old enough: none overlap. */
function lengthAt(moment: number, now: number): number {
  const fitting = LENGTHS.find(([age, length]) => now - Math.ceil(moment / length) * length >= age);
  return fitting?.[1] ?? SHORTEST_MS;
}
