import type { Address } from '@solana/kit';

export type MintSymbol = 'SOL' | 'USDC' | 'USDT' | 'PYUSD' | 'BONK';

/** A mint in the sandbox: a mainnet mint at its mainnet address, or a mint of `createMint`. */
export interface SandboxMint {
  readonly symbol: MintSymbol | `MINT${number}`;
  readonly address: Address;
  readonly decimals: number;
  readonly tokenProgram: Address;
  /**
   * Price of a base unit at the aggregator, in 1e-12 US dollars. This is fine enough for tokens far
   * below a millionth of a dollar.
   */
  readonly picoUsd: bigint;
}

/** A mint that exists in every new sandbox. */
export interface MainnetMint extends SandboxMint {
  readonly symbol: MintSymbol;
}

/** An account on the chain. */
export interface ChainAccount {
  readonly lamports: bigint;
  readonly data: Uint8Array;
  readonly owner: Address;
  readonly executable: boolean;
}

/** Direct access to the chain: reads and writes of accounts, and the current slot. */
export interface Chain {
  readonly slot: bigint;
  account(address: Address): ChainAccount | undefined;
  setAccount(address: Address, account: ChainAccount): void;
  /** Creates or tops up the associated token account of `owner` for `mint`; returns its address. */
  fundToken(owner: Address, mint: SandboxMint, amount: bigint): Promise<Address>;
  /** Adds lamports to an account, and creates it if needed. */
  fundSol(address: Address, lamports: bigint): void;
  /** Balance of the associated token account, 0n if it does not exist. */
  tokenBalance(owner: Address, mint: SandboxMint): Promise<bigint>;
}

/**
 * A fault that a service of the sandbox injects. It applies to `times` calls, or until it is
 * cleared if `times` is absent.
 */
export interface Fault {
  /**
   * `status` answers with this HTTP status. `hang` never answers. `garbage` answers 200 with bytes
   * that are not JSON. `dropBefore` and `dropAfter` cut the connection before or after the request
   * is handled.
   */
  readonly kind: 'status' | 'hang' | 'garbage' | 'dropBefore' | 'dropAfter';
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly times?: number;
}
