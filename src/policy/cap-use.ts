import type { CostParts } from '../receipt.js';
import { countingOf, type Cap, type CapRules, type Spend } from './caps.js';
import { costParts, inUnit } from './cost.js';
import { USD, USD_OF_FEES, USD_OF_SWAPS } from './units.js';

/** How much of a cap is used. JSON-safe. */
export interface CapUse {
  /** The rule of the policy: `maxPerDay`, `maxPerHost['api.example.com']`, `limits[2]`. */
  readonly cap: string;
  /** What it counts alone, if it does not count all. */
  readonly host?: string;
  readonly payee?: string;
  readonly mint?: string;
  /** In the unit: dollars as decimal text, base units, or how many. */
  readonly limit: string;
  /** Spent or reserved, in the unit. */
  readonly used: string;
  /** Of a cap in dollars, what `used` is made of: dollars as decimal text. */
  readonly parts?: CostParts;
  /** `USD`; `payments`; `swaps`; `lamports`; or the mint whose base units count. */
  readonly unit: string;
  /** Milliseconds; absent if it counts all that the journal knows of. */
  readonly windowMs?: number;
}

/** The parts of what is used of a cap in dollars, each as a cap of its own. */
export function partsOf(cap: Cap): readonly Cap[] {
  return cap.unit === USD ? [USD_OF_SWAPS, USD_OF_FEES].map((unit) => ({ ...cap, unit })) : [];
}

/** How much of a cap is used, for people; `parts` in the order of {@link partsOf}. */
export function capUse(cap: Cap, used: bigint, parts: readonly bigint[]): CapUse {
  const { name, unit, limit, windowMs, host, payTo, mint } = cap;
  return {
    cap: name,
    ...(host === undefined ? {} : { host }),
    ...(payTo === undefined ? {} : { payee: payTo }),
    ...(mint === undefined ? {} : { mint }),
    limit: inUnit(unit, limit),
    used: inUnit(unit, used),
    ...(unit === USD ? { parts: costParts(used, parts) } : {}),
    unit,
    ...(windowMs === undefined ? {} : { windowMs }),
  };
}

/**
 * All caps over time; if there is one for each host or payee, those of the hosts and payees
 * among the spends.
 */
export function capsSeen(
  { caps }: Pick<CapRules, 'caps'>,
  spends: Iterable<Spend>,
): readonly Cap[] {
  const all = [...spends];
  return caps.flatMap((cap) => {
    if (cap.host !== '*' && cap.payTo !== '*') return [cap];
    // Neither hosts nor addresses hold a space.
    const own = all
      .flatMap((spend) => countingOf([cap], spend))
      .map((one) => [`${one.host} ${one.payTo}`, one] as const);
    return [...new Map(own).values()];
  });
}
