import { formatUiAmount, parseUiAmount, pinnedMints, SOLANA_MAINNET } from 'exact-change';

const DECIMALS_OF_SOL = 9;
const MICRO_USD = 6;

/** Shortens an address to its first and last four letters, which people compare. */
export function short(address: string): string {
  return `${address.slice(0, 4)}…${address.slice(-4)}`;
}

/** Returns a token's decimals by the chain, if the wallet holds the token. */
export type DecimalsOf = (mint: string) => number | undefined;

/**
 * Formats base units of a mint. It shows the symbol only of pinned tokens, because other tokens may
 * use any symbol.
 */
export function amountText(mint: string, amount: string, decimals?: number): string {
  const pinned = pinnedMints(SOLANA_MAINNET).find((one) => one.mint === mint);
  const places = pinned?.decimals ?? decimals;
  if (places === undefined) return `${amount} base units of ${short(mint)}`;
  return `${formatUiAmount(BigInt(amount), places)} ${pinned?.symbol ?? short(mint)}`;
}

export function solText(lamports: string): string {
  return `${formatUiAmount(BigInt(lamports), DECIMALS_OF_SOL)} SOL`;
}

export function usdText(usd: string): string {
  const [whole = '0', fraction = ''] = usd.split('.');
  return `$${whole}.${fraction.padEnd(2, '0')}`;
}

/** Converts dollars to millionths of a dollar. */
export function microUsd(usd: string): bigint {
  return parseUiAmount(usd, MICRO_USD) ?? 0n;
}

/** Rounds dollars up to the next whole cent. */
export function upToCents(usd: string): string {
  const cents = (microUsd(usd) + 9_999n) / 10_000n;
  return formatUiAmount(cents * 10_000n, MICRO_USD);
}
