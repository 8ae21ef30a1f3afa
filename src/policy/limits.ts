import type { Cap } from './caps.js';
import { readHost } from './hosts.js';
import { readAddress, readList, readMint, readUnits, readUsd, refuse, refuseOtherFields } from './read.js';

/**
 * One more cap. Exactly one of `usd`, `amount` and `payments` says how much.
 *
 * @example
 * const limits: LimitOptions[] = [
 *   { usd: '0.50', per: 'hour', host: '*' },
 *   { amount: '5000000', mint: 'USDC', per: 'day', payee: '*' },
 *   { payments: 30, per: 'minute' },
 * ];
 */
export interface LimitOptions {
  /** US dollars as decimal text. */
  readonly usd?: string;
  /** Base units of `mint`. */
  readonly amount?: bigint | string;
  /** How many payments; not for each `payment`. */
  readonly payments?: number;
  /** `minute`, `hour` and `day` are the last 60 seconds, 60 minutes and 24 hours, at any instant; `total` is all that the journal knows of. */
  readonly per: 'payment' | 'minute' | 'hour' | 'day' | 'total';
  /** For payments in this mint alone: its address or pinned symbol. */
  readonly mint?: string;
  /** For payments to this host alone, named as in `maxPerHost`; `'*'`: for each host by itself, all its ports together. */
  readonly host?: string;
  /** For payments to this address alone; `'*'`: for each payee by itself. */
  readonly payee?: string;
}

const FIELDS = ['usd', 'amount', 'payments', 'per', 'mint', 'host', 'payee'];

export const HOUR_MS = 60 * 60 * 1000;
export const DAY_MS = 24 * HOUR_MS;

/** In milliseconds; 0 for a single payment, undefined for ever. */
const PERIODS: readonly (readonly [name: LimitOptions['per'], windowMs: number | undefined])[] = [
  ['payment', 0],
  ['minute', 60 * 1000],
  ['hour', HOUR_MS],
  ['day', DAY_MS],
  ['total', undefined],
];

/** The name of a window, for people. */
export function periodOf(windowMs: number): string {
  return PERIODS.find(([, ms]) => ms === windowMs)?.[0] ?? `${windowMs} ms`;
}

/** Checks the limits. One for each host or payee names it `*`; one on single payments has a window of 0. Throws `ConfigError` (`invalid_option`). */
export function readLimits(limits: readonly LimitOptions[], network: string): readonly Cap[] {
  return readList('policy.limits', limits, (option, limit) => readLimit(option, limit, network));
}

function readLimit(option: string, limit: LimitOptions, network: string): Cap {
  refuseOtherFields(option, limit, FIELDS);
  const { usd, amount, payments, per, mint, host, payee } = limit;
  if ([usd, amount, payments].filter((one) => one !== undefined).length !== 1)
    throw refuse(option, 'must have exactly one of usd, amount and payments.');
  const period = PERIODS.find(([known]) => known === per);
  if (period === undefined) throw refuse(`${option}.per`, `must be one of ${PERIODS.map(([known]) => known).join(', ')}.`);
  if (payments !== undefined && per === 'payment') throw refuse(`${option}.per`, 'must be longer than one payment, to count payments.');
  // An amount without its mint is refused here too.
  const only = mint === undefined && amount === undefined ? undefined : readMint(`${option}.mint`, mint, network);
  return {
    name: option.replace('policy.', ''),
    ...readMeasure(option, usd, amount, payments, only),
    windowMs: period[1],
    host: host === undefined || host === '*' ? host : readHost(`${option}.host`, host),
    payTo: payee === undefined || payee === '*' ? payee : readAddress(`${option}.payee`, payee),
    mint: only,
  };
}

function readMeasure(
  option: string,
  usd: string | undefined,
  amount: bigint | string | undefined,
  payments: number | undefined,
  mint: string | undefined,
): Pick<Cap, 'unit' | 'limit'> {
  if (usd !== undefined) return { unit: 'USD', limit: readUsd(`${option}.usd`, usd) };
  if (amount !== undefined && mint !== undefined) return { unit: mint, limit: readUnits(`${option}.amount`, amount, 'base units') };
  if (!Number.isSafeInteger(payments) || payments === undefined || payments < 0)
    throw refuse(`${option}.payments`, 'must be how many payments, a whole number from 0.');
  return { unit: 'payments', limit: BigInt(payments) };
}
