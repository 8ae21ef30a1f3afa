import { pinnedMints } from 'exact-change';

/** A mint as people write it: a symbol in any case, or an address. */
export function mintOf(text: string, network: string): string {
  const pinned = pinnedMints(network).find(({ symbol }) => symbol === text.toUpperCase());
  return pinned?.mint ?? text;
}
