import { DAY_MS, HOUR_MS } from '../policy/periods.js';

const MINUTE_MS = 60 * 1000;

/**
 * How long the periods are that have been over for so long, in milliseconds, the oldest first. Each
 * length is a multiple of the next.
 */
const LENGTHS: readonly (readonly [age: number, length: number])[] = [
  [64 * DAY_MS, 8 * DAY_MS],
  [2 * DAY_MS, 6 * HOUR_MS],
  [2 * HOUR_MS, 15 * MINUTE_MS],
  [2 * MINUTE_MS, MINUTE_MS],
];
const SHORTEST_MS = 1000;

/** Periods are put together when there are so many, or twice as many as were left last time. */
const FEWEST = 128;

/** What left after one moment, up to another. Milliseconds since the epoch. */
export interface SpentPeriod {
  readonly after: number;
  readonly until: number;
  readonly value: bigint;
}

/**
 * What leaves of one unit over time, as sums of periods: the older, the longer. What has left
 * counts until its whole period is out of a window: up to a period longer, never shorter.
 */
export interface SpentSums {
  readonly isEmpty: boolean;
  add(at: number, value: bigint): void;
  /** Takes back what was added at the same time. */
  subtract(at: number, value: bigint): void;
  /** What counts in a window that begins after this moment. */
  since(moment: number): bigint;
  /** The oldest first. */
  periods(): SpentPeriod[];
  /** Adds a period as it was. */
  restore(period: SpentPeriod): void;
}

export function createSpentSums(): SpentSums {
  let periods: { readonly after: number; readonly until: number; value: bigint }[] = [];
  let total = 0n;
  let most = FEWEST;

  /** The place of the first period that fits; all before do not. */
  const placeOf = (fits: (until: number) => boolean): number => {
    let [low, high] = [0, periods.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const period = periods[middle];
      if (period === undefined || fits(period.until)) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  /** Adds to the period that a moment is in; to a new one if there is none. */
  const change = (at: number, by: bigint, { after, until } = shortest(at)): void => {
    total += by;
    const place = placeOf((end) => end >= at);
    const period = periods[place];
    if (period !== undefined && period.after < at) period.value += by;
    else periods.splice(place, 0, { after, until, value: by });
  };
  const coarsen = (now: number): void => {
    const finer = periods;
    periods = [];
    for (const { after, until, value } of finer) {
      if (value === 0n) continue;
      const length = lengthAt(until, now);
      const end = Math.ceil(until / length) * length;
      const last = periods[periods.length - 1];
      if (last !== undefined && last.until === end) last.value += value;
      else if (until - after >= length) periods.push({ after, until, value });
      else periods.push({ after: end - length, until: end, value });
    }
    most = Math.max(FEWEST, 2 * periods.length);
  };

  return {
    get isEmpty() {
      return total === 0n;
    },
    add(at, value) {
      change(at, value);
      if (periods.length > most) coarsen(at);
    },
    subtract: (at, value) => change(at, -value),
    since(moment) {
      const place = placeOf((until) => until > moment);
      // Most windows begin near one of the ends.
      return place < periods.length / 2
        ? total - sumOf(periods.slice(0, place))
        : sumOf(periods.slice(place));
    },
    periods: () => periods.filter(({ value }) => value !== 0n).map((period) => ({ ...period })),
    restore: (period) => change(period.until, period.value, period),
  };
}

function sumOf(periods: readonly { readonly value: bigint }[]): bigint {
  return periods.reduce((sum, { value }) => sum + value, 0n);
}

function shortest(at: number): { readonly after: number; readonly until: number } {
  const until = Math.ceil(at / SHORTEST_MS) * SHORTEST_MS;
  return { after: until - SHORTEST_MS, until };
}

/** Of the period that a moment is put in: whole periods alone are old enough, so none overlap. */
function lengthAt(moment: number, now: number): number {
  const fitting = LENGTHS.find(([age, length]) => now - Math.ceil(moment / length) * length >= age);
  return fitting?.[1] ?? SHORTEST_MS;
}
