import type { Client } from '../src/client.js';
import { everyPinnedMint } from '../src/network.js';
import { formatUiAmount } from '../src/amount.js';

/** Writes an amount of a mint, in base units, for people. */
export type WriteAmount = (mint: string, units: string) => string;

/**
 * Writes amounts of some mints: `0.25 USDC`, or `0.25 of <mint>` of one that is not pinned, whose
 * decimals come from the chain; in base units if that does not know them.
 */
export async function amountWriter(
  client: Pick<Client, 'balance'>,
  mints: readonly string[],
): Promise<WriteAmount> {
  const decimalsOf = await decimalsReader(client, mints);
  return (mint, units) => {
    const decimals = decimalsOf(mint);
    if (decimals === undefined) return `${units} base units of ${mint}`;
    const symbol = everyPinnedMint.find((one) => one.mint === mint)?.symbol;
    const amount = formatUiAmount(BigInt(units), decimals);
    return symbol === undefined ? `${amount} of ${mint}` : `${amount} ${symbol}`;
  };
}

/** The decimals of some mints; undefined of one that is not pinned if no node knows them. */
export async function decimalsReader(
  client: Pick<Client, 'balance'>,
  mints: readonly string[],
): Promise<(mint: string) => number | undefined> {
  const known = new Map(everyPinnedMint.map(({ mint, decimals }) => [mint, decimals]));
  const unknown = [...new Set(mints)].filter((mint) => !known.has(mint));
  if (unknown.length > 0) {
    const balances = await client.balance(unknown).catch(() => []);
    for (const { mint, decimals } of balances) known.set(mint, decimals);
  }
  return (mint) => known.get(mint);
}
