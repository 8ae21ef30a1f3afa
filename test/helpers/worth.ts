import type { CapUse, Client } from 'exact-change';
import type { MintSymbol, Sandbox } from 'exact-change/sandbox';
import { expect } from 'vitest';

type Amounts = Readonly<Record<MintSymbol, bigint>>;

/** What tokens are worth at the sandbox's own prices, in picodollars. */
export function worth({ mints }: Pick<Sandbox, 'mints'>, amounts: Amounts): bigint {
  return Object.values(mints).reduce((sum, { symbol, picoUsd }) => sum + amounts[symbol] * picoUsd, 0n);
}

/** Dollars as decimal text, in millionths. */
export function microUsd(text: string): bigint {
  const [whole = '0', rest = ''] = text.split('.');
  return BigInt(whole) * 1_000_000n + BigInt(rest.padEnd(6, '0'));
}

const PICO = 1_000_000n;
// What is bought counts by its selling price, and what is sold by 1 % above that: spread and rounding of a cell's few small swaps.
const MOST_ABOVE = 40_000n;

/**
 * What a cap in dollars says is used is never below what left the wallet, by the chain's balances, and hardly above; its price part is what was paid.
 *
 * @param paid - Prices of the payments that the chain shows, in millionths of a dollar.
 */
export function expectCounted({ cap, used, parts }: CapUse, left: bigint, paid: bigint): void {
  expect([cap, microUsd(parts?.payments ?? '0')]).toEqual([cap, paid]);
  const missing = left - microUsd(used) * PICO;
  expect([cap, used, missing > 0n ? missing : 0n]).toEqual([cap, used, 0n]);
  expect([cap, used, -missing > MOST_ABOVE * PICO ? -missing : 0n]).toEqual([cap, used, 0n]);
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
