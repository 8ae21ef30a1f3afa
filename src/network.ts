import { formatUiAmount } from './amount.js';

/**
 * CAIP-2 id of a Solana cluster: `solana:` and the first 32 characters of the base58 genesis hash.
 */
export const SOLANA_MAINNET = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';
export const SOLANA_DEVNET = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
export const SOLANA_TESTNET = 'solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z';

/**
 * Clusters by name: x402 v1 names, and aliases seen in the wild. A payment always echoes the
 * seller's own string.
 */
export const networkNames: ReadonlyMap<string, string> = new Map([
  ['solana', SOLANA_MAINNET],
  ['solana-mainnet', SOLANA_MAINNET],
  ['solana-mainnet-beta', SOLANA_MAINNET],
  ['solana:mainnet', SOLANA_MAINNET],
  [SOLANA_MAINNET, SOLANA_MAINNET],
  ['solana-devnet', SOLANA_DEVNET],
  ['solana:devnet', SOLANA_DEVNET],
  [SOLANA_DEVNET, SOLANA_DEVNET],
  ['solana-testnet', SOLANA_TESTNET],
  ['solana:testnet', SOLANA_TESTNET],
  [SOLANA_TESTNET, SOLANA_TESTNET],
]);

/**
 * Returns the CAIP-2 id of a network by the name that a seller gives it; undefined if it names no
 * Solana cluster that we know.
 */
export function sellersNetwork(name: string): string | undefined {
  return networkNames.get(name.trim());
}

/** Returns the name of a cluster for people, such as `devnet`; any other network as it is. */
export function clusterOf(network: string): string {
  const [name] =
    [...networkNames].find(([key, id]) => id === network && /^solana-/.test(key)) ?? [];
  return name === undefined ? network : name.slice('solana-'.length);
}

/**
 * Returns the CAIP-2 id of a network by its name in terms of sellers (`"solana-devnet"`) or in
 * options of the client (`"devnet"`); undefined if it names no Solana cluster that we know.
 */
export function toNetwork(name: string): string | undefined {
  return sellersNetwork(name) ?? sellersNetwork(`solana-${name.trim()}`);
}

export const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
export const TOKEN_2022_PROGRAM = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
export const TOKEN_PROGRAMS: readonly string[] = [TOKEN_PROGRAM, TOKEN_2022_PROGRAM];

/** The mint of wrapped SOL, which Jupiter also takes for native SOL. */
export const WSOL_MINT = 'So11111111111111111111111111111111111111112';

export function isTokenProgram(program: string | undefined): boolean {
  return program === TOKEN_PROGRAM || program === TOKEN_2022_PROGRAM;
}

/** A mint with pinned facts: they are checked against the chain, never taken from a seller. */
export interface PinnedMint {
  readonly mint: string;
  readonly symbol: string;
  readonly decimals: number;
  readonly tokenProgram: string;
  /** Whether the issuer promises one US dollar for each token. */
  readonly dollar: boolean;
}

const pin = (
  symbol: string,
  mint: string,
  decimals: number,
  tokenProgram: string,
  dollar: boolean,
): PinnedMint => ({
  mint,
  symbol,
  decimals,
  tokenProgram,
  dollar,
});

const MAINNET_MINTS: readonly PinnedMint[] = [
  pin('USDC', 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', 6, TOKEN_PROGRAM, true),
  pin('USDT', 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', 6, TOKEN_PROGRAM, true),
  pin('PYUSD', '2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo', 6, TOKEN_2022_PROGRAM, true),
  pin('USDG', '2u1tszSeqZ3qBWF3uNGPFc8TzMk2tdiwknnRMWGWjGWH', 6, TOKEN_2022_PROGRAM, true),
  pin('CASH', 'CASHx9KJUStyftLFWGvEVf59SGeG9sh5FfcnZMVPCASH', 6, TOKEN_2022_PROGRAM, true),
  pin('SOL', WSOL_MINT, 9, TOKEN_PROGRAM, false),
];

const DEVNET_MINTS: readonly PinnedMint[] = [
  pin('USDC', '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU', 6, TOKEN_PROGRAM, true),
  pin('USDG', '4F6PM96JJxngmHnZLBh9n58RH4aTVNWvDs2nuwrT5BP7', 6, TOKEN_2022_PROGRAM, true),
  pin('PYUSD', 'CXk2AMBfi3TwaEL2468s6zP8xq9NxTXjp9gjMgzeUynM', 6, TOKEN_2022_PROGRAM, true),
  pin('SOL', WSOL_MINT, 9, TOKEN_PROGRAM, false),
];

/**
 * Returns the pinned mints of a cluster by its name or CAIP-2 id, stablecoins first. Any other
 * network has none.
 */
export function pinnedMints(network: string): readonly PinnedMint[] {
  const known = toNetwork(network);
  return known === SOLANA_MAINNET || known === SOLANA_DEVNET ? mintsPinnedOn(known) : [];
}

/** Returns the pinned mints of a client's network. On testnet, the mints of devnet are pinned. */
export function mintsPinnedOn(network: string): readonly PinnedMint[] {
  return network === SOLANA_MAINNET ? MAINNET_MINTS : DEVNET_MINTS;
}

/** The pinned mints of all clusters; wrapped SOL is in it twice. */
export const everyPinnedMint: readonly PinnedMint[] = [...MAINNET_MINTS, ...DEVNET_MINTS];

/** Returns a pinned mint by its address or symbol (`"USDC"`); undefined if it is not pinned. */
export function pinnedMint(network: string, mintOrSymbol: string): PinnedMint | undefined {
  return mintsPinnedOn(network).find(
    (pinned) => pinned.mint === mintOrSymbol || pinned.symbol === mintOrSymbol,
  );
}

/** An amount as decimal text for people. */
export interface ShownAmount {
  readonly uiAmount: string;
  /** Present only if the mint is pinned. */
  readonly symbol?: string;
}

/** Returns the pinned symbol of a mint, because a token's own metadata may lie. */
export function symbolOf(network: string, mint: string): { readonly symbol?: string } {
  const symbol = pinnedMint(network, mint)?.symbol;
  return symbol === undefined ? {} : { symbol };
}

export function shownAmount(
  network: string,
  mint: string,
  amount: bigint,
  decimals: number,
): ShownAmount {
  return { uiAmount: formatUiAmount(amount, decimals), ...symbolOf(network, mint) };
}
