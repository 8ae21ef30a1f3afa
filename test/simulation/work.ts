import type { Clock } from './clock.js';

/** A period of overlapping calls, from an idle moment to the next idle moment. */
export interface BusyPeriod {
  calls: number;
  /** Number of 402s from sellers in the period; a call may get two, because it may plan first. */
  prices: number;
  /** Mints in requests to Jupiter. */
  readonly mints: Set<string>;
}

/** Counts requests to Jupiter, and measures how long calls take to choose an offer. */
export interface Work {
  /** Counts a call as running until it settles. */
  during<T>(call: Promise<T>): Promise<T>;
  asksJupiter(url: URL): void;
  /** Records a 402 with a price. */
  isPriced(): void;
  /** Records that an attempt got a price. */
  looks(id: string): void;
  /** Records that an attempt chose an offer, or failed. */
  chose(id: string): void;
  readonly spells: readonly BusyPeriod[];
  /** Milliseconds between price and choice of each attempt. */
  readonly choices: readonly number[];
}

export function createWork({ now }: Pick<Clock, 'now'>): Work {
  const spells: BusyPeriod[] = [];
  const choices: number[] = [];
  const looking = new Map<string, number>();
  let running = 0;
  return {
    ...{ spells, choices },
    async during(call) {
      const last = spells[spells.length - 1];
      if (running === 0 || last === undefined)
        spells.push({ calls: 1, prices: 0, mints: new Set() });
      else last.calls += 1;
      running += 1;
      return call.finally(() => (running -= 1));
    },
    asksJupiter({ searchParams }) {
      if (running > 0)
        for (const side of ['inputMint', 'outputMint'])
          spells[spells.length - 1]?.mints.add(searchParams.get(side) ?? '');
    },
    isPriced() {
      const last = spells[spells.length - 1];
      if (running > 0 && last !== undefined) last.prices += 1;
    },
    looks: (id) => void looking.set(id, now()),
    chose(id) {
      const from = looking.get(id);
      // An attempt may fail after its choice, which must count once.
      if (from !== undefined && looking.delete(id)) choices.push(now() - from);
    },
  };
}
