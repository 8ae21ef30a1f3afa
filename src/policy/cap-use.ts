import type { CostParts } from '../receipt.js';
import { capsFor, type Cap, type CapRules, type Spend } from './caps.js';
import { costParts, inUnit } from './cost.js';
import { USD, USD_OF_FEES, USD_OF_SWAPS } from './units.js';

/** How much of a cap is used. JSON-safe. */
export interface CapUse {
  /** The rule of the policy: `maxPerDay`, `maxPerHost['api.example.com']`, `limits[2]`. */
  readonly cap: string;
  /** The only host, payee or mint that the cap counts; absent if it counts all. */
  readonly host?: string;
  readonly payee?: string;
  readonly mint?: string;
  /** In the cap's unit: dollars as decimal text, base units, or a count. */
  readonly limit: string;
  /** Spent or reserved, in the cap's unit. */
  readonly used: string;
  /** The parts of `used` if the cap is in dollars: dollars as decimal text. */
  readonly parts?: CostParts;
  /** `USD`; `payments`; `swaps`; `lamports`; or a mint, for its base units. */
  readonly unit: string;
  /** Milliseconds; absent if the cap counts everything that the journal knows of. */
  readonly windowMs?: number;
}

/** Returns caps that count only the swaps, and only the fees, of a cap in dollars. */
export function partsOf(cap: Cap): readonly Cap[] {
  return cap.unit === USD ? [USD_OF_SWAPS, USD_OF_FEES].map((unit) => ({ ...cap, unit })) : [];
}

/** Returns how much of a cap is used, for people; `parts` in the order of {@link partsOf}. */
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
 * Returns all caps over time. A cap for each host or payee is returned for the hosts and payees
 * among the spends.
 */
export function capsForSpends(
  { caps }: Pick<CapRules, 'caps'>,
  spends: Iterable<Spend>,
): readonly Cap[] {
  const spendList = [...spends];
  return caps.flatMap((cap) => {
    if (cap.host !== '*' && cap.payTo !== '*') return [cap];
    // A space separates the names, because neither hosts nor addresses hold a space.
    const named = spendList
      .flatMap((spend) => capsFor({ caps: [cap] }, spend))
      .map((found) => [`${found.host} ${found.payTo}`, found] as const);
    return [...new Map(named).values()];
  });
}
