import { clusterOf, sellersNetwork } from '../../network.js';

/** Chains that sellers name most: CAIP-2 id, x402 v1 name, and common name. */
const OTHER_CHAINS: readonly (readonly [id: string, name: string, called: string])[] = [
  ['eip155:8453', 'base', 'Base'],
  ['eip155:84532', 'base-sepolia', 'Base Sepolia'],
  ['eip155:1', 'ethereum', 'Ethereum'],
  ['eip155:137', 'polygon', 'Polygon'],
  ['eip155:80002', 'polygon-amoy', 'Polygon Amoy'],
  ['eip155:42161', 'arbitrum', 'Arbitrum'],
  ['eip155:43114', 'avalanche', 'Avalanche'],
  ['eip155:43113', 'avalanche-fuji', 'Avalanche Fuji'],
  ['eip155:1329', 'sei', 'Sei'],
];

/** @param name - The seller's name of its network. The result does not repeat it. */
export function otherNetwork(
  name: string,
  network: string,
): { readonly why: string; readonly next: string } {
  const known = sellersNetwork(name);
  if (known !== undefined)
    return {
      why: `is for Solana ${clusterOf(known)}, and this client is on ${clusterOf(network)}`,
      next: `Nothing was paid; use a client with network: '${clusterOf(known)}'.`,
    };
  const id = name.trim();
  const other = OTHER_CHAINS.find((chain) => chain[0] === id || chain[1] === id);
  const chain = other?.[2] ?? (id.startsWith('eip155:') ? 'another EVM chain' : 'another network');
  return {
    why: `is for ${chain}, and this client pays on Solana`,
    next: 'Nothing was paid; pay it from a wallet of that network, or ask the seller to take Solana.',
  };
}
