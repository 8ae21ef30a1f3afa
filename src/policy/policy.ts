import { refuse, refuseUnknown, requireObject } from '../internal/options.js';
import type { Cap, CapRules } from './caps.js';
import { LAMPORTS, USD } from './units.js';
import { readHost } from './hosts.js';
import { readLimits, type LimitOptions } from './limits.js';
import { readLists, type ListOptions, type ListRules } from './lists.js';
import { DAY_MS, HOUR_MS } from './periods.js';
import type { Plan } from './plan.js';
import { readMint, readUnits, readUsd, readWhole } from './read.js';
import { readTopUp, type TopUp, type TopUpOptions } from './top-up.js';

/**
 * The caller's rules about money. Dollars are decimal text such as `"0.25"`, with at most six
 * decimals. Caps count everything that leaves the wallet for payments: prices, the value that swaps
 * take less the value that they bring in a pinned token, network fees and rent.
 */
export interface PolicyOptions {
  /** US dollars that one payment may cost, with its swap. Default `"1.00"`. */
  readonly maxPerPayment?: string | undefined;
  /** US dollars in any 60 minutes. */
  readonly maxPerHour?: string | undefined;
  /** US dollars in any 24 hours. Default `"10.00"`. */
  readonly maxPerDay?: string | undefined;
  /** US dollars in total, for everything that the journal knows of. */
  readonly maxTotal?: string | undefined;
  /**
   * US dollars in any 24 hours for each host, such as `{ 'api.example.com': '1.00' }`. A host
   * without a port stands for all its ports.
   */
  readonly maxPerHost?: Readonly<Record<string, string>> | undefined;
  /**
   * Lamports of network fees and rent in any 24 hours, whether or not SOL has a price. Default
   * 50000000.
   */
  readonly maxLamportsPerDay?: bigint | string | undefined;
  /**
   * Base units that may leave for one payment, by mint or pinned symbol. A mint without a price can
   * be paid only with such a cap.
   */
  readonly maxAmount?: Readonly<Record<string, bigint | string>> | undefined;
  /** Further caps. All caps hold, each by itself. */
  readonly limits?: readonly LimitOptions[] | undefined;
  /** Allows only payments that each of its lists names. */
  readonly allow?: ListOptions | undefined;
  /** Denies payments that one of its lists names, also if `allow` names them. */
  readonly deny?: ListOptions | undefined;
  /** Called with the plan before anything is signed. Only `true` lets the payment go on. */
  readonly approve?: ((plan: Plan) => boolean | Promise<boolean>) | undefined;
  /**
   * Number of further payments that may be signed if the paid request was answered with 402, and
   * the answer shows that nothing was settled. A further payment has the same payee and no higher
   * price. Default 0. Until the chain decides, both payments count against every cap.
   */
  readonly resign?: 0 | 1 | undefined;
  /**
   * Base units that one swap may take, by mint or pinned symbol: a bound that no quote can raise.
   */
  readonly maxInAmount?: Readonly<Record<string, bigint | string>> | undefined;
  /**
   * US dollars that a swap brings at least, so that small calls do not each cost a swap. Default
   * `"0.05"`.
   */
  readonly minSwap?: string | undefined;
  /**
   * Keeps a float of a dollar token by swaps between calls, within this policy. Needs `autoSwap`.
   */
  readonly topUp?: TopUpOptions | undefined;
  /** Basis points; default 50. */
  readonly maxSlippageBps?: number | undefined;
  /** Basis points; default 100. */
  readonly maxPriceImpactBps?: number | undefined;
  /**
   * Basis points that a swap for a payment may cost besides slippage; default 100. Dollar tokens
   * count at par, other tokens at their selling price. A token without a price is swapped only
   * within its `maxInAmount`.
   */
  readonly maxSwapLossBps?: number | undefined;
  /** Lamports for the network and priority fee of one swap; default 250000. */
  readonly maxFeeLamports?: bigint | string | undefined;
  /** Lamports for the rent of our own new token accounts in one swap; default 10000000. */
  readonly maxRentLamports?: bigint | string | undefined;
}

/** The checked policy. Dollars are millionths of a dollar. */
export interface Policy extends CapRules, ListRules {
  readonly approve: ((plan: Plan) => boolean | Promise<boolean>) | undefined;
  readonly resign: 0 | 1;
  readonly maxInAmount: ReadonlyMap<string, bigint>;
  readonly minSwap: bigint;
  readonly topUp: TopUp | undefined;
  readonly maxSlippageBps: number;
  readonly maxPriceImpactBps: number;
  readonly maxSwapLossBps: number;
  readonly maxFeeLamports: bigint;
  readonly maxRentLamports: bigint;
}

export const POLICY_NAMES: readonly (keyof PolicyOptions)[] = [
  'maxPerPayment',
  'maxPerHour',
  'maxPerDay',
  'maxTotal',
  'maxPerHost',
  'maxLamportsPerDay',
  'maxAmount',
  'limits',
  'allow',
  'deny',
  'approve',
  'resign',
  'maxInAmount',
  'minSwap',
  'topUp',
  'maxSlippageBps',
  'maxPriceImpactBps',
  'maxSwapLossBps',
  'maxFeeLamports',
  'maxRentLamports',
];

/** Checks the policy and fills in the defaults. Throws `ConfigError` (`invalid_option`). */
export function parsePolicy(options: PolicyOptions, network: string): Policy {
  refuseUnknown(options, POLICY_NAMES, 'policy');
  const { approve, resign = 0, limits: limitOptions = [] } = options;
  if (approve !== undefined && typeof approve !== 'function')
    throw refuse('policy.approve', 'must be a function.');
  if (![0, 1].includes(resign)) throw refuse('policy.resign', 'must be 0 or 1.');
  const limits = readLimits(limitOptions, network);
  const lamports = (
    name: 'maxFeeLamports' | 'maxRentLamports' | 'maxLamportsPerDay',
    preset: bigint,
  ): bigint => readUnits(`policy.${name}`, options[name] ?? preset, 'lamports');
  const units = (name: 'maxAmount' | 'maxInAmount'): ReadonlyMap<string, bigint> =>
    readTable(name, options[name], (option, mint, amount) => [
      readMint(option, mint, network),
      readUnits(option, amount, 'base units'),
    ]);
  const bps = (
    name: 'maxSlippageBps' | 'maxPriceImpactBps' | 'maxSwapLossBps',
    preset: number,
  ): number =>
    readWhole(`policy.${name}`, options[name] ?? preset, 10_000, 'basis points, a whole number');
  return Object.freeze({
    maxPerPayment: readUsd('policy.maxPerPayment', options.maxPerPayment ?? '1.00'),
    maxAmount: units('maxAmount'),
    perPayment: Object.freeze(limits.filter(({ windowMs }) => windowMs === 0)),
    caps: Object.freeze([
      ...dollarCaps('maxPerHour', options.maxPerHour, HOUR_MS),
      ...dollarCaps('maxPerDay', options.maxPerDay ?? '10.00', DAY_MS),
      ...dollarCaps('maxTotal', options.maxTotal, undefined),
      ...hostCaps(options.maxPerHost),
      {
        name: 'maxLamportsPerDay',
        unit: LAMPORTS,
        limit: lamports('maxLamportsPerDay', 50_000_000n),
        windowMs: DAY_MS,
      },
      ...limits.filter(({ windowMs }) => windowMs !== 0),
    ]),
    lists: Object.freeze([
      ...readLists('deny', options.deny, network),
      ...readLists('allow', options.allow, network),
    ]),
    approve,
    resign,
    maxInAmount: units('maxInAmount'),
    minSwap: readUsd('policy.minSwap', options.minSwap ?? '0.05'),
    topUp: readTopUp(options.topUp, network),
    maxSlippageBps: bps('maxSlippageBps', 50),
    maxPriceImpactBps: bps('maxPriceImpactBps', 100),
    maxSwapLossBps: bps('maxSwapLossBps', 100),
    maxFeeLamports: lamports('maxFeeLamports', 250_000n),
    maxRentLamports: lamports('maxRentLamports', 10_000_000n),
  });
}

function dollarCaps(name: string, usd: string | undefined, windowMs: number | undefined): Cap[] {
  return usd === undefined
    ? []
    : [{ name, unit: USD, limit: readUsd(`policy.${name}`, usd), windowMs }];
}

function hostCaps(maxPerHost: PolicyOptions['maxPerHost']): Cap[] {
  const limits = readTable('maxPerHost', maxPerHost, (option, host, usd) => [
    readHost(option, host),
    readUsd(option, usd),
  ]);
  return [...limits].map(([host, limit]) => ({
    name: `maxPerHost['${host}']`,
    unit: USD,
    limit,
    windowMs: DAY_MS,
    host,
  }));
}

/**
 * Reads caps by name, each name in the form that caps use. Throws for two spellings of the same
 * name, because one cap would be lost silently.
 */
function readTable<V>(
  name: 'maxPerHost' | 'maxAmount' | 'maxInAmount',
  table: Readonly<Record<string, V>> | undefined,
  read: (option: string, key: string, value: V) => [string, bigint],
): ReadonlyMap<string, bigint> {
  const caps = new Map<string, bigint>();
  if (table === undefined) return caps;
  requireObject(table, `policy.${name}`);
  for (const [key, value] of Object.entries(table)) {
    const option = `policy.${name}['${key}']`;
    const [known, cap] = read(option, key, value);
    if (caps.has(known)) throw refuse(option, 'is there already under another spelling. Give one.');
    caps.set(known, cap);
  }
  return caps;
}
