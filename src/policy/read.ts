import { parseUiAmount, toAmount, USD_DECIMALS } from '../amount.js';
import { refuse } from '../internal/options.js';
import { pinnedMint } from '../network.js';
import { isAddress } from '../solana/address.js';
import type { Address } from '../solana/types.js';

/** Reads the entries of a list, each under its own name, such as `hosts[0]`. */
export function readList<E, T>(
  option: string,
  list: readonly E[],
  read: (option: string, entry: E) => T,
): readonly T[] {
  if (!Array.isArray(list)) throw refuse(option, 'must be a list.');
  // Unlike map, Array.from does not skip a hole.
  return Object.freeze(Array.from(list, (entry: E, index) => read(`${option}[${index}]`, entry)));
}

export function readUsd(option: string, text: unknown): bigint {
  const value = parseUiAmount(text, USD_DECIMALS);
  if (value === undefined)
    throw refuse(option, 'must be US dollars as text such as "0.25", with at most six decimals.');
  return value;
}

/** Reads base units or lamports; `what` names them in the error. */
export function readUnits(option: string, amount: unknown, what: string): bigint {
  const value = toAmount(amount);
  if (value === undefined)
    throw refuse(option, `must be ${what} as a bigint or a whole number as text.`);
  return value;
}

export function readAddress(option: string, address: unknown, what = 'a base58 address'): Address {
  if (!isAddress(address)) throw refuse(option, `must be ${what}.`);
  return address;
}

export function readMint(option: string, mint: unknown, network: string): Address {
  const pinned = typeof mint === 'string' ? pinnedMint(network, mint)?.mint : undefined;
  return readAddress(option, pinned ?? mint, 'a mint address or a pinned symbol such as "USDC"');
}

export function readSwapFrom(
  mints: readonly string[] | undefined,
  network: string,
): readonly string[] | undefined {
  if (mints === undefined) return undefined;
  return readList('swapFrom', mints, (option, mint) => readMint(option, mint, network));
}

export function readWhole(
  option: string,
  value: unknown,
  most: number,
  what = 'a whole number',
): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > most)
    throw refuse(option, `must be ${what} from 0 to ${most}.`);
  return value;
}
