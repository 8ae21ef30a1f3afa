import { pinnedMint } from '../../src/network.js';

/** Returns the mint of a symbol (in any case) or of an address. */
export function mintOf(text: string, network: string): string {
  return pinnedMint(network, text.toUpperCase())?.mint ?? text;
}
