import { costOf, type Expense } from './cost.js';
import { plainHost, portless } from './hosts.js';

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

/** Those of some caps that count a spend; one for each host or payee as that of its own. */
export function countingOf(caps: readonly Cap[], spend: Spend): Cap[] {
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
