import type { Address } from '@solana/kit';

export type MintSymbol = 'SOL' | 'USDC' | 'USDT' | 'PYUSD' | 'BONK';

/**
 * A mint that exists in the sandbox: one of mainnet's, at its address there, or one that
 * `createMint` made.
 */
export interface SandboxMint {
  readonly symbol: MintSymbol | `MINT${number}`;
  readonly address: Address;
  readonly decimals: number;
  readonly tokenProgram: Address;
  /**
   * Price of one base unit in 1e-12 US dollars: what the aggregator trades at. Fine enough for
   * tokens far below a millionth of a dollar.
   */
  readonly picoUsd: bigint;
}

/** One of the mints that every sandbox starts with. */
export interface MainnetMint extends SandboxMint {
  readonly symbol: MintSymbol;
}

/** An account as it lies on the chain. */
export interface ChainAccount {
  readonly lamports: bigint;
  readonly data: Uint8Array;
  readonly owner: Address;
  readonly executable: boolean;
}

/**
 * What the services of the sandbox need of the chain besides its JSON-RPC: reading and seeding
 * accounts, and the clock.
 */
export interface Chain {
  readonly slot: bigint;
  account(address: Address): ChainAccount | undefined;
  setAccount(address: Address, account: ChainAccount): void;
  /** Creates or tops up the associated token account of `owner` for `mint`; returns its address. */
  fundToken(owner: Address, mint: SandboxMint, amount: bigint): Promise<Address>;
  /** Adds lamports to an account, creating it if need be. */
  fundSol(address: Address, lamports: bigint): void;
  /** Balance of the associated token account, 0n if it does not exist. */
  tokenBalance(owner: Address, mint: SandboxMint): Promise<bigint>;
}

/**
 * A fault that a service of the sandbox injects; `times` counts down, absent means until cleared.
 */
export interface Fault {
  /**
   * `status`: answer this HTTP status. `hang`: never answer. `garbage`: 200 with bytes that are no
   * JSON. `dropBefore`/`dropAfter`: cut the connection before or after handling.
   */
  readonly kind: 'status' | 'hang' | 'garbage' | 'dropBefore' | 'dropAfter';
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly times?: number;
}
