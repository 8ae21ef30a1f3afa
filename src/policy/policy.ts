import { formatUiAmount, parseUiAmount, toAmount } from '../amount.js';
import { ConfigError } from '../errors.js';
import { pinnedMint } from '../network.js';
import { isAddress } from '../solana/address.js';

/** The caller's rules about money. Dollars are decimal text such as `"0.25"`, with at most six decimals. */
export interface PolicyOptions {
  /** US dollars that one payment may cost. Default `"1.00"`. */
  readonly maxPerPayment?: string;
  /** US dollars in any 24 hours. Default `"10.00"`. */
  readonly maxPerDay?: string;
  /** US dollars in any 24 hours for each host, such as `{ 'api.example.com': '1.00' }`. Without a port it stands for all ports. */
  readonly maxPerHost?: Readonly<Record<string, string>>;
  /** Base units that one payment may cost, by mint or pinned symbol. A mint without a price can be paid only with such a cap. */
  readonly maxAmount?: Readonly<Record<string, bigint | string>>;
  /** Base units that one swap may take, by mint or pinned symbol: a bound that no quote can move. */
  readonly maxInAmount?: Readonly<Record<string, bigint | string>>;
  /** US dollars that a swap gets at least, so that small calls do not each cost a swap. Default `"0.05"`. */
  readonly minSwap?: string;
  /** Basis points; default 50. */
  readonly maxSlippageBps?: number;
  /** Basis points; default 100. */
  readonly maxPriceImpactBps?: number;
  /**
   * Basis points that a swap for a payment may cost besides slippage; default 100. Dollar tokens count at par, others at their selling
   * price. A token without a price is swapped only within its `maxInAmount`.
   */
  readonly maxSwapLossBps?: number;
  /** Lamports for the network and priority fee of one swap; default 250000. */
  readonly maxFeeLamports?: bigint | string;
  /** Lamports for the rent of our own new token accounts in one swap; default 10000000. */
  readonly maxRentLamports?: bigint | string;
}

/** The rules, checked. Dollars are millionths of a dollar. */
export interface Policy {
  readonly maxPerPayment: bigint;
  readonly maxPerDay: bigint;
  readonly maxPerHost: ReadonlyMap<string, bigint>;
  readonly maxAmount: ReadonlyMap<string, bigint>;
  readonly maxInAmount: ReadonlyMap<string, bigint>;
  readonly minSwap: bigint;
  readonly maxSlippageBps: number;
  readonly maxPriceImpactBps: number;
  readonly maxSwapLossBps: number;
  readonly maxFeeLamports: bigint;
  readonly maxRentLamports: bigint;
}

/** Decimals of a dollar amount inside the library. */
export const USD_DECIMALS = 6;

/** Millionths of a dollar as text: `1250000n` is `"1.25"`. */
export function formatUsd(microUsd: bigint): string {
  return formatUiAmount(microUsd, USD_DECIMALS);
}

const NAMES: readonly (keyof PolicyOptions)[] = [
  'maxPerPayment',
  'maxPerDay',
  'maxPerHost',
  'maxAmount',
  'maxInAmount',
  'minSwap',
  'maxSlippageBps',
  'maxPriceImpactBps',
  'maxSwapLossBps',
  'maxFeeLamports',
  'maxRentLamports',
];

/** A host as `URL` gives it, without the trailing dot that names the same place. */
export function plainHost(host: string): string {
  return host.replace(/\.(?=:[0-9]+$|$)/, '');
}

/** Checks the rules and fills in the defaults. Throws `ConfigError` (`invalid_option`). */
export function parsePolicy(options: PolicyOptions, network: string): Policy {
  refuseOtherThanTable('policy', options);
  const unknown = Object.keys(options).find((name) => !NAMES.some((known) => known === name));
  // A misspelt cap would be no cap at all.
  if (unknown !== undefined) throw refuse(`policy.${unknown}`, `is no rule. Use one of ${NAMES.join(', ')}.`);
  const lamports = (name: 'maxFeeLamports' | 'maxRentLamports', preset: bigint): bigint => {
    const value = toAmount(options[name] ?? preset);
    if (value === undefined) throw refuse(`policy.${name}`, 'must be lamports as a bigint or a decimal string.');
    return value;
  };
  const bps = (name: 'maxSlippageBps' | 'maxPriceImpactBps' | 'maxSwapLossBps', preset: number): number => {
    const value = options[name] ?? preset;
    if (!Number.isInteger(value) || value < 0 || value > 10_000)
      throw refuse(`policy.${name}`, 'must be basis points, a whole number from 0 to 10000.');
    return value;
  };
  return Object.freeze({
    maxPerPayment: dollars('policy.maxPerPayment', options.maxPerPayment ?? '1.00'),
    maxPerDay: dollars('policy.maxPerDay', options.maxPerDay ?? '10.00'),
    maxPerHost: table('maxPerHost', options.maxPerHost, (host, usd) => [hostName(host), dollars(`policy.maxPerHost['${host}']`, usd)]),
    maxAmount: table('maxAmount', options.maxAmount, (mint, amount) => mintCap('maxAmount', mint, amount, network)),
    maxInAmount: table('maxInAmount', options.maxInAmount, (mint, amount) => mintCap('maxInAmount', mint, amount, network)),
    minSwap: dollars('policy.minSwap', options.minSwap ?? '0.05'),
    maxSlippageBps: bps('maxSlippageBps', 50),
    maxPriceImpactBps: bps('maxPriceImpactBps', 100),
    maxSwapLossBps: bps('maxSwapLossBps', 100),
    maxFeeLamports: lamports('maxFeeLamports', 250_000n),
    maxRentLamports: lamports('maxRentLamports', 10_000_000n),
  });
}

function refuse(option: string, rule: string): ConfigError {
  return new ConfigError('invalid_option', `Option ${option} ${rule}`, { details: { option } });
}

function dollars(option: string, text: unknown): bigint {
  const value = parseUiAmount(text, USD_DECIMALS);
  if (value === undefined) throw refuse(option, 'must be US dollars as a decimal string such as "0.25", with at most six decimals.');
  return value;
}

/** A list or a Map has no entries here, and would silently be no cap. */
function refuseOtherThanTable(option: string, value: unknown): void {
  if (typeof value !== 'object' || value === null || Symbol.iterator in value) throw refuse(option, 'must be an object.');
}

/** Caps by name, each name read as the caps know it. Two names of one thing would silently lose one cap. */
function table<V>(
  name: 'maxPerHost' | 'maxAmount' | 'maxInAmount',
  given: Readonly<Record<string, V>> | undefined,
  read: (key: string, value: V) => [string, bigint],
): ReadonlyMap<string, bigint> {
  const caps = new Map<string, bigint>();
  if (given === undefined) return caps;
  refuseOtherThanTable(`policy.${name}`, given);
  for (const [key, value] of Object.entries(given)) {
    const [known, cap] = read(key, value);
    if (caps.has(known)) throw refuse(`policy.${name}['${key}']`, 'is there already under another spelling. Give one.');
    caps.set(known, cap);
  }
  return caps;
}

/** Letters, digits, dots and a port; or an IPv6 address. Neither wildcards nor anything that is more than a host. */
const HOST = /^(?:[\p{L}\p{N}\p{M}_-]+(?:\.[\p{L}\p{N}\p{M}_-]+)*\.?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/iu;

function hostName(host: string): string {
  try {
    if (HOST.test(host)) return plainHost(new URL(`https://${host}`).host);
  } catch {
    // refused below, with the option's name
  }
  throw refuse(`policy.maxPerHost['${host}']`, 'must be named by a host such as "api.example.com".');
}

function mintCap(name: 'maxAmount' | 'maxInAmount', mint: string, amount: bigint | string, network: string): [string, bigint] {
  const address = pinnedMint(network, mint)?.mint ?? mint;
  const cap = toAmount(amount);
  if (!isAddress(address) || cap === undefined)
    throw refuse(`policy.${name}['${mint}']`, 'must be base units of a mint, as a bigint or a decimal string.');
  return [address, cap];
}
