import type { CapUse, Client } from 'exact-change';
import type { MintSymbol, Sandbox } from 'exact-change-sandbox';
import { expect } from 'vitest';
import type { Attempt } from '../../src/journal/types.js';

type Amounts = Readonly<Record<MintSymbol, bigint>>;

/** Returns the value of token amounts at the sandbox's prices, in picodollars. */
export function worth({ mints }: Pick<Sandbox, 'mints'>, amounts: Amounts): bigint {
  return Object.values(mints).reduce(
    (sum, { symbol, picoUsd }) => sum + amounts[symbol] * picoUsd,
    0n,
  );
}

/** Converts decimal text in dollars to millionths of a dollar. */
export function microUsd(text: string): bigint {
  const [whole = '0', rest = ''] = text.split('.');
  return BigInt(whole) * 1_000_000n + BigInt(rest.padEnd(6, '0'));
}

const PICO = 1_000_000n;
/**
 * Divisor of 1 %. Caps count an amount of a non-dollar token 1 % above its selling price
 * (`SPREAD_BPS` of src/payments/plan/usd-price.ts), which is at most its value.
 */
const SPREAD = 100n;
/**
 * Divisor of 0.5 % (`maxSlippageBps`). If no node returns a swap's transaction, caps count the
 * swap's bound, which is 0.5 % above its input.
 */
const SLIPPAGE = 200n;
/**
 * Millionths of a dollar for each swap. The selling price, the spread, and both for the fees are
 * rounded up; the output is rounded down.
 */
const ROUNDED = 5n;
const DOLLARS: readonly string[] = ['USDC', 'USDT', 'PYUSD'];

/**
 * Returns the most that caps may count beyond the real loss of the wallet, in picodollars: for
 * amounts in non-dollar tokens, and for rounding.
 */
function mostAbove({ mints }: Pick<Sandbox, 'mints'>, attempts: readonly Attempt[]): bigint {
  const others = Object.values(mints).filter(({ symbol }) => !DOLLARS.includes(symbol));
  const worthOf = (mint: string, units: string) =>
    (others.find(({ address }) => address === mint)?.picoUsd ?? 0n) * BigInt(units);
  return attempts.reduce((sum, { state, mint, amount, swapped, swap }) => {
    const price = state === 'settled' ? worthOf(mint, amount) : 0n;
    const sold = Object.entries(swapped?.inputs ?? {}).reduce(
      (total, [input, units]) => total + worthOf(input, units),
      0n,
    );
    const isUnseen =
      swap?.outcome?.state === 'confirmed' && swap.outcome.rentLamports === undefined;
    const soft = price + sold + BigInt(swapped?.lamports ?? 0) * mints.SOL.picoUsd;
    return (
      sum +
      soft / SPREAD +
      (isUnseen ? sold / SLIPPAGE : 0n) +
      BigInt(swapped?.swaps ?? 0) * ROUNDED * PICO
    );
  }, 0n);
}

/** The losses of a wallet by the chain, and its attempts by the journal. */
interface Gone {
  /** Loss of value of the wallet's balances, in picodollars. */
  readonly left: bigint;
  /** Prices of the payments that the chain shows, in millionths of a dollar. */
  readonly paid: bigint;
  readonly attempts: readonly Attempt[];
}

/**
 * Checks the use of a cap in dollars. It is at least the loss of the wallet by the chain, and above
 * it only by prices and rounding. Its `payments` part equals the paid prices.
 */
export function expectCapUse(
  sandbox: Pick<Sandbox, 'mints'>,
  { cap, used, parts }: CapUse,
  { left, paid, attempts }: Gone,
): void {
  expect([cap, microUsd(parts?.payments ?? '0')]).toEqual([cap, paid]);
  const above = microUsd(used) * PICO - left;
  expect([cap, used, above < 0n ? above : 0n]).toEqual([cap, used, 0n]);
  expect([cap, used, above > mostAbove(sandbox, attempts) ? above : 0n]).toEqual([cap, used, 0n]);
}

/** Returns the use of the first dollar cap for payments alone, without swaps, fees and rent. */
export async function paidOf(client: Pick<Client, 'spent'>): Promise<string | undefined> {
  return (await client.spent()).find(({ parts }) => parts !== undefined)?.parts?.payments;
}

/** Returns the use of each cap by its name. */
export async function usedByCap(client: Pick<Client, 'spent'>): Promise<Record<string, string>> {
  return Object.fromEntries((await client.spent()).map(({ cap, used }) => [cap, used]));
}

/** The use of the default caps before any spending. */
export const UNUSED = { maxPerDay: '0', maxLamportsPerDay: '0' };
