import { formatUsd } from '../amount.js';
import { PolicyError } from '../errors.js';
import type { CostParts } from '../receipt.js';
import { costOf, type Cost, type Expense } from './cost.js';
import { LAMPORTS, PAYMENTS, SWAPS, USD, USD_OF_FEES, USD_OF_SWAPS } from './units.js';
import { plainHost, portless } from './hosts.js';
import { periodOf } from './periods.js';

/**
 * A limit on what leaves the wallet for payments, in a rolling window or for ever. A cap that names
 * a host, payee or mint counts what leaves for payments to that host, to that payee, or in that
 * mint.
 */
export interface Cap {
  /** The rule of the policy that it comes from. */
  readonly name: string;
  /**
   * `USD`: millionths of a dollar; `payments` and `swaps`: how many; `lamports`: of network fees
   * and rent; else the mint whose base units count.
   */
  readonly unit: string;
  /** In the unit. */
  readonly limit: bigint;
  /** Milliseconds. Absent: for ever. */
  readonly windowMs?: number | undefined;
  /** As an address shows it; without a port, all its ports. */
  readonly host?: string | undefined;
  readonly payTo?: string | undefined;
  /**
   * Of the payment. A cap in base units of this same mint counts all that leaves of it, whatever it
   * pays for.
   */
  readonly mint?: string | undefined;
}

/** The part of a policy that bounds what leaves. Dollars are millionths of a dollar. */
export interface CapRules {
  readonly maxPerPayment: bigint;
  readonly maxAmount: ReadonlyMap<string, bigint>;
  /** The limits on single payments; as {@link CapRules.caps}, with a window of 0. */
  readonly perPayment: readonly Cap[];
  /**
   * The caps over time. One for each host or payee names it `*`, and is no cap before it names one.
   */
  readonly caps: readonly Cap[];
}

/** What a cap looks at in an attempt. */
export interface Spend extends Expense {
  readonly host: string;
  readonly payTo: string;
}

/**
 * What a spend takes of a cap, in its unit: its price, and all that its swaps take. 0 if the cap
 * does not count it.
 */
export function takenOf(cap: Cap, spend: Spend): bigint {
  return counts(cap, spend) ? (costOf(spend, true).get(cap.unit) ?? 0n) : 0n;
}

/**
 * Whether a cap counts a spend. One that names a host without a port counts all its ports, so that
 * no seller leaves it by moving.
 */
export function counts(
  cap: Cap,
  { host, payTo, mint }: Pick<Spend, 'host' | 'payTo' | 'mint'>,
): boolean {
  if (cap.payTo !== undefined && cap.payTo !== payTo) return false;
  if (cap.mint !== undefined && cap.mint !== cap.unit && cap.mint !== mint) return false;
  if (cap.host === undefined) return true;
  return cap.host === plainHost(host) || cap.host === portless(host);
}

/**
 * The caps over time that count a spend; if there is one for each host or payee, that of its
 * own.
 */
export function capsFor({ caps }: Pick<CapRules, 'caps'>, spend: Spend): readonly Cap[] {
  return countingOf(caps, spend);
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

function countingOf(caps: readonly Cap[], spend: Spend): Cap[] {
  const isAbout = (cap: Cap) =>
    cap.mint === undefined || cap.mint === spend.mint || takenOf(cap, spend) > 0n;
  return caps.map((cap) => ownOf(cap, spend)).filter((cap) => counts(cap, spend) && isAbout(cap));
}

/** One for each host has it without a port, so that no seller leaves its cap by moving. */
function ownOf(cap: Cap, spend: Spend): Cap {
  const { host, payTo } = cap;
  if (host !== '*' && payTo !== '*') return cap;
  return {
    ...cap,
    host: host === '*' ? portless(spend.host) : host,
    payTo: payTo === '*' ? spend.payTo : payTo,
  };
}

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

/** What dollars are made of: all of them, and by the parts of {@link partsOf}. */
export function costParts(all: bigint, [swaps = 0n, fees = 0n]: readonly bigint[]): CostParts {
  const rest = all - swaps - fees;
  return {
    payments: formatUsd(rest > 0n ? rest : 0n),
    swaps: formatUsd(swaps),
    fees: formatUsd(fees),
  };
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

function inUnit(unit: string, value: bigint): string {
  return unit === USD ? formatUsd(value) : value.toString();
}

const WORDS: readonly string[] = [USD, PAYMENTS, SWAPS, LAMPORTS];

function sayIn(unit: string, value: bigint): string {
  return `${inUnit(unit, value)} ${WORDS.includes(unit) ? unit : 'base units'}`;
}

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
 * The refusal of a spend that a cap over time has no room for; `used` and `taken` in the cap's
 * unit.
 */
export function overBudget(cap: Cap, used: bigint, taken: bigint): PolicyError<'budget_exhausted'> {
  const { name, unit, limit, windowMs } = cap;
  const period = windowMs === undefined ? 'so far' : `in the last ${periodOf(windowMs)}`;
  // Waiting brings room only if what is spent leaves the window, and if this spend fits by
  // itself.
  const waits = windowMs !== undefined && taken <= limit;
  const next = waits ? 'Wait, or raise it.' : 'Raise it to allow the payment.';
  return new PolicyError(
    'budget_exhausted',
    `${sayIn(unit, taken)} do not fit policy.${name} of ${sayIn(unit, limit)}: ${sayIn(unit, used)} are spent or reserved ${period}. ${next}`,
    {
      details: {
        cap: name,
        limit: inUnit(unit, limit),
        used: inUnit(unit, used),
        amount: inUnit(unit, taken),
        unit,
      },
      ...(waits ? {} : { retry: 'never' }),
    },
  );
}
