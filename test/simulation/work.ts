import type { Clock } from './clock.js';

/** Some calls that overlap, from when nothing was at work until nothing is again. */
export interface Spell {
  calls: number;
  /** 402s that sellers answered with meanwhile: a call may plan first. */
  prices: number;
  /** Mints that Jupiter was asked about. */
  readonly mints: Set<string>;
}

/** What calls of the library cost others, and their caller. */
export interface Work {
  /** Runs a call, until it is over or its process is. */
  during<T>(call: Promise<T>): Promise<T>;
  asksJupiter(url: URL): void;
  /** A seller answers with a price. */
  isPriced(): void;
  /** An attempt has met a price. */
  looks(id: string): void;
  /** It knows what to pay, or that it pays nothing. */
  chose(id: string): void;
  readonly spells: readonly Spell[];
  /** Milliseconds between. */
  readonly choices: readonly number[];
}

export function createWork({ now }: Pick<Clock, 'now'>): Work {
  const spells: Spell[] = [];
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
      // It may fail after that.
      if (from !== undefined && looking.delete(id)) choices.push(now() - from);
    },
  };
}
