import { pinnedMints } from 'exact-change';

/** Returns the mint of a symbol (in any case) or of an address. */
export function mintOf(text: string, network: string): string {
  const pinned = pinnedMints(network).find(({ symbol }) => symbol === text.toUpperCase());
  return pinned?.mint ?? text;
}
