import { pinnedMints, type Client } from 'exact-change';
import { pinnedMint } from '../../src/network.js';
import { amountText } from '../../src/token-text.js';

/** A mint as people write it: a symbol in any case, or an address. */
export function mintOf(text: string, network: string): string {
  const pinned = pinnedMints(network).find(({ symbol }) => symbol === text.toUpperCase());
  return pinned?.mint ?? text;
}

/** Writes amounts of some mints; those that are not pinned have their decimals from the chain. */
export async function amountWriter(
  client: Pick<Client, 'balance'>,
  network: string,
  mints: readonly string[],
): Promise<(mint: string, units: string) => string> {
  const unknown = mints.filter((mint) => pinnedMint(network, mint) === undefined);
  const balances = unknown.length === 0 ? [] : await client.balance(unknown);
  const decimals = new Map(balances.map((one) => [one.mint, one.decimals]));
  return (mint, units) => amountText(network, mint, BigInt(units), decimals.get(mint));
}
