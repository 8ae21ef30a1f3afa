import { PolicyError } from '../errors.js';
import { formatUsd } from './dollars.js';
import { plainHost, portless } from './hosts.js';
import { periodOf } from './limits.js';
import type { Policy } from './policy.js';

/** A limit on what payments may cost, or on how many there are, in a rolling window or for ever. Where it names a host, payee or mint, it counts theirs alone. */
export interface Cap {
  /** The rule of the policy that it comes from. */
  readonly name: string;
  /** `USD`: millionths of a dollar; `payments`: how many; else the mint whose base units count. */
  readonly unit: string;
  /** In the unit. */
  readonly limit: bigint;
  /** Absent: for ever. */
  readonly windowMs?: number | undefined;
  /** As an address shows it; without a port, all its ports. */
  readonly host?: string | undefined;
  readonly payTo?: string | undefined;
  readonly mint?: string | undefined;
}

/** What a cap looks at in an attempt. */
export interface Spend {
  readonly host: string;
  readonly payTo: string;
  readonly mint: string;
  /** Base units of the mint, as a decimal string. */
  readonly amount: string;
  /** Millionths of a dollar as a decimal string; absent where the mint has no price. */
  readonly microUsd?: string;
}

/** What a spend takes of a cap, in its unit; 0 where the cap does not count it. */
export function takenOf(cap: Cap, spend: Spend): bigint {
  if (!counts(cap, spend)) return 0n;
  if (cap.unit === 'USD') return unitsOf(spend.microUsd ?? '0');
  if (cap.unit === 'payments') return 1n;
  return spend.mint === cap.unit ? unitsOf(spend.amount) : 0n;
}

/** A negative number would be credit, and BigInt takes more than decimals. */
function unitsOf(text: string): bigint {
  if (!/^[0-9]+$/.test(text)) throw new RangeError('What is spent must be decimal digits.');
  return BigInt(text);
}

/** Whether a cap counts a spend. One that names a host without a port counts all its ports, so that no seller leaves it by moving. */
export function counts(cap: Cap, { host, payTo, mint }: Pick<Spend, 'host' | 'payTo' | 'mint'>): boolean {
  if (cap.payTo !== undefined && cap.payTo !== payTo) return false;
  if (cap.mint !== undefined && cap.mint !== mint) return false;
  if (cap.host === undefined) return true;
  return cap.host === plainHost(host) || cap.host === portless(host);
}

/** The caps over time that count a spend; where there is one for each host or payee, that of its own. */
export function capsFor({ caps }: Policy, spend: Spend): readonly Cap[] {
  return countingOf(caps, spend);
}

/** All caps over time; where there is one for each host or payee, those of the hosts and payees among the spends. */
export function capsSeen({ caps }: Policy, spends: Iterable<Spend>): readonly Cap[] {
  const all = [...spends];
  return caps.flatMap((cap) => {
    if (cap.host !== '*' && cap.payTo !== '*') return [cap];
    // Neither hosts nor addresses hold a space.
    const own = all.flatMap((spend) => countingOf([cap], spend)).map((one) => [`${one.host} ${one.payTo}`, one] as const);
    return [...new Map(own).values()];
  });
}

function countingOf(caps: readonly Cap[], spend: Spend): Cap[] {
  return caps.map((cap) => ownOf(cap, spend)).filter((cap) => counts(cap, spend));
}

/** One for each host has it without a port, so that no seller leaves its cap by moving. */
function ownOf(cap: Cap, spend: Spend): Cap {
  const { host, payTo } = cap;
  if (host !== '*' && payTo !== '*') return cap;
  return { ...cap, host: host === '*' ? portless(spend.host) : host, payTo: payTo === '*' ? spend.payTo : payTo };
}

/** How much of a cap is used. JSON-safe. */
export interface CapUse {
  /** The rule of the policy: `maxPerDay`, `maxPerHost['api.example.com']`, `limits[2]`. */
  readonly cap: string;
  /** What it counts alone, where it does not count all. */
  readonly host?: string;
  readonly payee?: string;
  readonly mint?: string;
  /** In the unit: dollars as decimal text, base units, or how many. */
  readonly limit: string;
  /** Spent or reserved, in the unit. */
  readonly used: string;
  /** `USD`; `payments`; or the mint whose base units count. */
  readonly unit: string;
  /** Milliseconds; absent where it counts all that the journal knows of. */
  readonly windowMs?: number;
}

/** How much of a cap is used, for people. */
export function capUse(cap: Cap, used: bigint): CapUse {
  const { name, unit, limit, windowMs, host, payTo, mint } = cap;
  return {
    cap: name,
    ...(host === undefined ? {} : { host }),
    ...(payTo === undefined ? {} : { payee: payTo }),
    ...(mint === undefined ? {} : { mint }),
    limit: inUnit(unit, limit),
    used: inUnit(unit, used),
    unit,
    ...(windowMs === undefined ? {} : { windowMs }),
  };
}

function inUnit(unit: string, value: bigint): string {
  return unit === 'USD' ? formatUsd(value) : value.toString();
}

function sayIn(unit: string, value: bigint): string {
  return `${inUnit(unit, value)} ${unit === 'USD' || unit === 'payments' ? unit : 'base units'}`;
}

/** The caps on a single payment. Returns the refusal (`amount_over_limit`, `price_unknown`), or undefined where it may go on. */
export function checkPayment(
  { maxAmount, maxPerPayment, perPayment }: Policy,
  spend: Spend,
): PolicyError<'amount_over_limit' | 'price_unknown'> | undefined {
  const { mint } = spend;
  const units = maxAmount.get(mint);
  const caps: readonly Cap[] = [
    ...(units === undefined ? [] : [{ name: 'maxAmount', unit: mint, limit: units }]),
    { name: 'maxPerPayment', unit: 'USD', limit: maxPerPayment },
    ...countingOf(perPayment, spend),
  ];
  const over = caps.find((cap) => takenOf(cap, spend) > cap.limit);
  if (over !== undefined) {
    const { name, unit } = over;
    const taken = takenOf(over, spend);
    return new PolicyError(
      'amount_over_limit',
      `The price of ${sayIn(unit, taken)} is above policy.${name} of ${sayIn(unit, over.limit)}. Raise it to allow the payment.`,
      { details: { cap: name, limit: inUnit(unit, over.limit), amount: inUnit(unit, taken), unit } },
    );
  }
  if (spend.microUsd !== undefined || caps.some(({ unit }) => unit === mint)) return undefined;
  return new PolicyError(
    'price_unknown',
    `No price is known for mint ${mint}, so no dollar cap can hold. Set policy.maxAmount for it, in base units, to allow payments.`,
    { details: { mint } },
  );
}

/** The refusal of a spend that a cap over time has no room for; `used` and `taken` in the cap's unit. */
export function overBudget(cap: Cap, used: bigint, taken: bigint): PolicyError<'budget_exhausted'> {
  const { name, unit, limit, windowMs } = cap;
  const period = windowMs === undefined ? 'so far' : `in the last ${periodOf(windowMs)}`;
  // Waiting brings room only where what is spent leaves the window, and where this spend fits by itself.
  const waits = windowMs !== undefined && taken <= limit;
  const next = waits ? 'Wait, or raise it.' : 'Raise it to allow the payment.';
  return new PolicyError(
    'budget_exhausted',
    `${sayIn(unit, taken)} do not fit policy.${name} of ${sayIn(unit, limit)}: ${sayIn(unit, used)} are spent or reserved ${period}. ${next}`,
    {
      details: { cap: name, limit: inUnit(unit, limit), used: inUnit(unit, used), amount: inUnit(unit, taken), unit },
      ...(waits ? {} : { retry: 'never' }),
    },
  );
}
