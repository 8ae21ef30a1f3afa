import type { Client } from '../src/client.js';
import { everyPinnedMint } from '../src/network.js';
import { formatUiAmount } from '../src/amount.js';

/** Returns an amount of a mint, in base units, as text for people. */
export type WriteAmount = (mint: string, units: string) => string;

/**
 * Returns a writer for amounts of the given mints: `0.25 USDC` for a pinned mint, `0.25 of <mint>`
 * for any other mint. The client checks the decimals of other mints on its own node. If they are
 * not known, the text has base units.
 */
export async function amountWriter(
  client: Pick<Client, 'balance'>,
  mints: readonly string[],
): Promise<WriteAmount> {
  const decimalsOf = await decimalsReader(client, mints);
  return (mint, units) => {
    const decimals = decimalsOf(mint);
    if (decimals === undefined) return `${units} base units of ${mint}`;
    const symbol = everyPinnedMint.find((pinned) => pinned.mint === mint)?.symbol;
    const amount = formatUiAmount(BigInt(units), decimals);
    return symbol === undefined ? `${amount} of ${mint}` : `${amount} ${symbol}`;
  };
}

/** Returns a reader of decimals: undefined if a mint is not pinned and no node knows it. */
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
