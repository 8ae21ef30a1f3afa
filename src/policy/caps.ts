import { costOf, type Expense } from './cost.js';
import { plainHost, portless } from './hosts.js';

/**
 * A limit on what leaves the wallet for payments, in a rolling window or for ever. A cap that names
 * a host, payee or mint counts only what leaves for payments to that host, to that payee, or in
 * that mint.
 */
export interface Cap {
  /** The rule of the policy that the cap comes from. */
  readonly name: string;
  /**
   * `USD`: millionths of a dollar; `payments` and `swaps`: a count; `lamports`: network fees and
   * rent; otherwise a mint: its base units.
   */
  readonly unit: string;
  /** In the cap's unit. */
  readonly limit: bigint;
  /** Milliseconds. Absent: for ever. */
  readonly windowMs?: number | undefined;
  /** A host as an address shows it; without a port, it stands for all its ports. */
  readonly host?: string | undefined;
  readonly payTo?: string | undefined;
  /**
   * The mint of the payment. If `unit` is the same mint, the cap counts all base units of it that
   * leave, for payments in any mint.
   */
  readonly mint?: string | undefined;
}

/** The part of a policy that limits what leaves the wallet. Dollars are millionths of a dollar. */
export interface CapRules {
  readonly maxPerPayment: bigint;
  readonly maxAmount: ReadonlyMap<string, bigint>;
  /** The limits on single payments: as {@link CapRules.caps}, but with a window of 0. */
  readonly perPayment: readonly Cap[];
  /**
   * The caps over time. `*` as the host or payee stands for a cap for each host or payee: it counts
   * only once a spend's host or payee takes its place.
   */
  readonly caps: readonly Cap[];
}

/** The fields of an attempt that caps read. */
export interface Spend extends Expense {
  readonly host: string;
  readonly payTo: string;
}

/**
 * Returns what a spend takes of a cap, in the cap's unit: its price, and all that its swaps take. 0
 * if the cap does not count the spend.
 */
export function takenOf(cap: Cap, spend: Spend): bigint {
  return capCounts(cap, spend) ? (costOf(spend, true).get(cap.unit) ?? 0n) : 0n;
}

/**
 * Whether a cap counts a spend. A cap that names a host without a port counts all its ports, so
 * that a seller cannot leave it by a change of port.
 */
export function capCounts(
  cap: Cap,
  { host, payTo, mint }: Pick<Spend, 'host' | 'payTo' | 'mint'>,
): boolean {
  if (cap.payTo !== undefined && cap.payTo !== payTo) return false;
  if (cap.mint !== undefined && cap.mint !== cap.unit && cap.mint !== mint) return false;
  if (cap.host === undefined) return true;
  return cap.host === plainHost(host) || cap.host === portless(host);
}

/**
 * Returns the caps over time that count a spend. A cap for each host or payee is returned with the
 * host or payee of the spend; it does not count a swap alone, which has neither.
 */
export function capsFor({ caps }: Pick<CapRules, 'caps'>, spend: Spend): readonly Cap[] {
  const isAbout = (cap: Cap) =>
    cap.mint === undefined || cap.mint === spend.mint || takenOf(cap, spend) > 0n;
  return caps
    .map((cap) => named(cap, spend))
    .filter((cap) => capCounts(cap, spend))
    .filter(isAbout);
}

/**
 * Puts a spend's host and payee in the place of `*`, but not of a swap alone, which has neither. The
 * host has no port, so that a seller cannot leave the cap by a change of port.
 */
function named(cap: Cap, spend: Spend): Cap {
  const { host, payTo } = cap;
  // A payment of a caller without a URL has an empty host, and a payee.
  if (spend.payTo === '' || (host !== '*' && payTo !== '*')) return cap;
  return {
    ...cap,
    host: host === '*' ? portless(spend.host) : host,
    payTo: payTo === '*' ? spend.payTo : payTo,
  };
}
