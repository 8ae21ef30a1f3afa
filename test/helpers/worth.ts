import type { CapUse, Client } from 'exact-change';
import type { MintSymbol, Sandbox } from 'exact-change-sandbox';
import { expect } from 'vitest';
import type { Attempt } from '../../src/journal/types.js';

type Amounts = Readonly<Record<MintSymbol, bigint>>;

/** What tokens are worth at the sandbox's own prices, in picodollars. */
export function worth({ mints }: Pick<Sandbox, 'mints'>, amounts: Amounts): bigint {
  return Object.values(mints).reduce(
    (sum, { symbol, picoUsd }) => sum + amounts[symbol] * picoUsd,
    0n,
  );
}

/** Dollars as decimal text, in millionths. */
export function microUsd(text: string): bigint {
  const [whole = '0', rest = ''] = text.split('.');
  return BigInt(whole) * 1_000_000n + BigInt(rest.padEnd(6, '0'));
}

const PICO = 1_000_000n;
/**
 * What leaves in a token that is no dollar counts 1 % above what it sells for (`SPREAD_BPS` of
 * src/payments/plan/usd-price.ts), which is at most what it is worth.
 */
const SPREAD = 100n;
/**
 * Of a swap that no node gives, the most that it may take counts: 0.5 % more (`maxSlippageBps`) of
 * what it sells, or brings.
 */
const SLIPPAGE = 200n;
/**
 * Millionths of a dollar, for each swap: the selling price, the spread, and the same of its fees
 * are rounded up, what arrives is rounded down.
 */
const ROUNDED = 5n;
const DOLLARS: readonly string[] = ['USDC', 'USDT', 'PYUSD'];

/**
 * By how much caps may count more than leaves, in picodollars: for what some attempts took in
 * tokens that are no dollars, and for rounding.
 */
function mostAbove({ mints }: Pick<Sandbox, 'mints'>, attempts: readonly Attempt[]): bigint {
  const others = Object.values(mints).filter(({ symbol }) => !DOLLARS.includes(symbol));
  const worthOf = (mint: string, units: string) =>
    (others.find(({ address }) => address === mint)?.picoUsd ?? 0n) * BigInt(units);
  return attempts.reduce((sum, { state, mint, amount, swapped, swap }) => {
    const price = state === 'settled' ? worthOf(mint, amount) : 0n;
    const sold = Object.entries(swapped?.inputs ?? {}).reduce(
      (all, [input, units]) => all + worthOf(input, units),
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

/** What a chain and a journal say of one wallet. */
interface Gone {
  /** What its balances are worth less than before, in picodollars. */
  readonly left: bigint;
  /** Prices of the payments that the chain shows, in millionths of a dollar. */
  readonly paid: bigint;
  readonly attempts: readonly Attempt[];
}

/**
 * What a cap in dollars says is used is never below what left the wallet, by the chain's balances,
 * and above by no more than prices and rounding explain; its price part is what was paid.
 */
export function expectCounted(
  sandbox: Pick<Sandbox, 'mints'>,
  { cap, used, parts }: CapUse,
  { left, paid, attempts }: Gone,
): void {
  expect([cap, microUsd(parts?.payments ?? '0')]).toEqual([cap, paid]);
  const above = microUsd(used) * PICO - left;
  expect([cap, used, above < 0n ? above : 0n]).toEqual([cap, used, 0n]);
  expect([cap, used, above > mostAbove(sandbox, attempts) ? above : 0n]).toEqual([cap, used, 0n]);
}

/** What the first cap in dollars counts for prices alone, without swaps, fees and rent. */
export async function paidOf(client: Pick<Client, 'spent'>): Promise<string | undefined> {
  return (await client.spent()).find(({ parts }) => parts !== undefined)?.parts?.payments;
}

/** What is used of each cap, by its name. */
export async function usedByCap(client: Pick<Client, 'spent'>): Promise<Record<string, string>> {
  return Object.fromEntries((await client.spent()).map(({ cap, used }) => [cap, used]));
}

/** Nothing of the caps that are there by default. */
export const UNUSED = { maxPerDay: '0', maxLamportsPerDay: '0' };
