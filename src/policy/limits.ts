import { refuse, refuseUnknown } from '../internal/options.js';
import type { Cap } from './caps.js';
import { USD } from './units.js';
import { readHost } from './hosts.js';
import { PERIODS, type Period } from './periods.js';
import { readAddress, readList, readMint, readUnits, readUsd } from './read.js';

/**
 * A further cap. Exactly one of `usd`, `amount`, `payments`, `swaps` and `lamports` sets its limit.
 *
 * @example
 * const limits: LimitOptions[] = [
 *   { usd: '0.50', per: 'hour', host: '*' },
 *   { amount: '5000000', mint: 'USDC', per: 'day', payee: '*' },
 *   { payments: 30, per: 'minute' },
 *   { swaps: 5, per: 'hour' },
 * ];
 */
export interface LimitOptions {
  /** US dollars as decimal text. */
  readonly usd?: string | undefined;
  /** Base units of `mint`, for payments in the mint and for swaps out of it. */
  readonly amount?: bigint | string | undefined;
  /** Number of payments; not with a `per` of `payment`. */
  readonly payments?: number | undefined;
  /** Number of swaps for payments, with failed swaps; not with a `per` of `payment`. */
  readonly swaps?: number | undefined;
  /** Lamports of network fees and rent. */
  readonly lamports?: bigint | string | undefined;
  /**
   * `minute`, `hour` and `day` are the last 60 seconds, 60 minutes and 24 hours, at any instant;
   * `total` is everything that the journal knows of.
   */
  readonly per: Period;
  /**
   * A mint's address or pinned symbol. With `amount`: the mint that is counted. Otherwise only
   * payments in this mint count, with their swaps.
   */
  readonly mint?: string | undefined;
  /**
   * Counts only payments to this host, named as in `maxPerHost`; `'*'`: a cap for each host, with
   * all its ports together.
   */
  readonly host?: string | undefined;
  /** Counts only payments to this address; `'*'`: a cap for each payee. */
  readonly payee?: string | undefined;
}

const MEASURES = ['usd', 'amount', 'payments', 'swaps', 'lamports'] as const;
const FIELDS = [...MEASURES, 'per', 'mint', 'host', 'payee'];

/**
 * Reads the limits as caps. A cap for each host or payee has `*` in its place; a cap on single
 * payments has a window of 0. Throws `ConfigError` (`invalid_option`).
 */
export function readLimits(limits: readonly LimitOptions[], network: string): readonly Cap[] {
  return readList('policy.limits', limits, (option, limit) => readLimit(option, limit, network));
}

function readLimit(option: string, limit: LimitOptions, network: string): Cap {
  refuseUnknown(limit, FIELDS, option);
  const { per, mint, host, payee } = limit;
  const [measure, ...excess] = MEASURES.filter((name) => limit[name] !== undefined);
  if (measure === undefined || excess.length > 0)
    throw refuse(option, `must have exactly one of ${MEASURES.join(', ')}.`);
  const period = PERIODS.find(([known]) => known === per);
  if (period === undefined)
    throw refuse(`${option}.per`, `must be one of ${PERIODS.map(([known]) => known).join(', ')}.`);
  const isCount = measure === 'payments' || measure === 'swaps';
  if (isCount && per === 'payment')
    throw refuse(`${option}.per`, `must be longer than one payment, to count ${measure}.`);
  // `readMint` also refuses an amount without a mint.
  const mintAddress =
    mint === undefined && measure !== 'amount'
      ? undefined
      : readMint(`${option}.mint`, mint, network);
  return {
    name: option.replace('policy.', ''),
    unit: unitOf(measure, mintAddress),
    limit: readMeasure(`${option}.${measure}`, limit, measure),
    windowMs: period[1],
    host: host === undefined || host === '*' ? host : readHost(`${option}.host`, host),
    payTo: payee === undefined || payee === '*' ? payee : readAddress(`${option}.payee`, payee),
    mint: mintAddress,
  };
}

function unitOf(measure: (typeof MEASURES)[number], mint: string | undefined): string {
  if (measure === 'usd') return USD;
  return measure === 'amount' ? (mint ?? '') : measure;
}

function readMeasure(
  option: string,
  limit: LimitOptions,
  measure: (typeof MEASURES)[number],
): bigint {
  const value = limit[measure];
  if (measure === 'usd') return readUsd(option, value);
  if (measure === 'amount') return readUnits(option, value, 'base units');
  if (measure === 'lamports') return readUnits(option, value, 'lamports');
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  throw refuse(option, `must be how many ${measure}, a whole number from 0.`);
}
