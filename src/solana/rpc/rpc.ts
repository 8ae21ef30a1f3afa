import type { Address, Lifetime } from '../types.js';
import type { AccountWatch } from './signature-socket.js';

export interface Account {
  readonly owner: Address;
  readonly lamports: bigint;
  readonly data: Uint8Array;
  readonly executable: boolean;
}

export type Commitment = 'processed' | 'confirmed' | 'finalized';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** The node answers with the state of this slot or later, or the call fails. */
  readonly minContextSlot?: number | undefined;
}

export interface SignatureStatus {
  readonly slot: number;
  readonly commitment: Commitment;
  /** Why the transaction failed, as the node says; null if it succeeded. */
  readonly error: string | null;
}

/** A call from one program to another in a transaction, at any depth. */
export interface InnerInstruction {
  /** Index of the top-level instruction that led to the call. */
  readonly outer: number;
  readonly program: Address;
  /**
   * The nodes' name of the instruction, such as `transfer` or `setAuthority`. Only instructions of
   * the System program and both token programs have a name.
   */
  readonly name: string | undefined;
  /**
   * Every address in the call: of the accounts alone, or also of the data if the node parsed the
   * call.
   */
  readonly addresses: readonly Address[];
  /** The account that the call creates, if it is a System instruction that creates an account. */
  readonly creates: Address | undefined;
}

export interface Simulation {
  readonly slot: number;
  /** The node's error without redaction, for rules. Do not show it. */
  readonly error: string | null;
  readonly logs: readonly string[];
  readonly unitsConsumed: bigint;
  /**
   * The watched accounts after the simulation, in order; null for an account that does not exist.
   */
  readonly accounts: readonly (Account | null)[];
  /** Calls between programs, in the order in which they ran; undefined if the node shows none. */
  readonly inner: readonly InnerInstruction[] | undefined;
}

export interface TokenBalanceChange {
  readonly account: Address;
  readonly mint: Address;
  readonly before: bigint;
  readonly after: bigint;
}

export interface LandedTransaction {
  readonly slot: number;
  readonly error: string | null;
  /** All signatures in base58, the fee payer's first. */
  readonly signatures: readonly string[];
  readonly feeLamports: bigint;
  readonly tokenChanges: readonly TokenBalanceChange[];
  /**
   * Whether the node records token balances. If it does, an account without a balance was no token
   * account.
   */
  readonly tellsTokens: boolean;
  readonly lamports: ReadonlyMap<Address, { readonly before: bigint; readonly after: bigint }>;
}

/** Slot and block height of the same block. */
export interface Tip {
  readonly slot: number;
  readonly height: bigint;
}

export interface SignatureInfo {
  readonly signature: string;
  readonly slot: number;
  readonly error: string | null;
  readonly memo: string | null;
}

/**
 * One Solana node, or several nodes with failover. Each call has a deadline. It rejects with the
 * signal's reason, or with a `TransportError` (`rpc_unavailable`, `rate_limited`, `timeout`,
 * `invalid_response`, `rpc_wrong_network`) that says that no tokens moved. The default commitment
 * is `confirmed`.
 */
export interface Rpc {
  /** Reads at most 100 accounts. */
  accounts(
    addresses: readonly Address[],
    options?: CallOptions & { readonly commitment?: Commitment },
  ): Promise<{ slot: number; accounts: (Account | null)[] }>;
  tokenAccounts(
    owner: Address,
    options?: CallOptions,
  ): Promise<{ slot: number; accounts: { address: Address; account: Account }[] }>;
  latestBlockhash(options?: CallOptions): Promise<Lifetime>;
  tip(commitment: Commitment, options?: CallOptions): Promise<Tip>;
  /** Whether a transaction with the blockhash can still land, and the slot of that answer. */
  isBlockhashValid(
    blockhash: string,
    options?: CallOptions & { readonly commitment?: Commitment },
  ): Promise<{ slot: number; valid: boolean }>;
  firstSlot(options?: CallOptions): Promise<number>;
  /** Returns the lamports that make an account of `bytes` bytes rent-exempt. */
  rent(bytes: number, options?: CallOptions): Promise<bigint>;
  /**
   * Returns the prices, in micro-lamports per compute unit, of recent transactions that write these
   * accounts.
   */
  priorityFees(accounts: readonly Address[], options?: CallOptions): Promise<readonly bigint[]>;
  /**
   * Simulates a serialized transaction, signed or not. The node does not verify signatures, and it
   * replaces the blockhash.
   */
  simulate(
    transaction: Uint8Array,
    watch: readonly Address[],
    options?: CallOptions,
  ): Promise<Simulation>;
  /** Sends a serialized transaction, without preflight and without retries by the node. */
  send(transaction: Uint8Array, options?: CallOptions): Promise<void>;
  statuses(
    signatures: readonly string[],
    options?: CallOptions & { readonly history?: boolean },
  ): Promise<(SignatureStatus | null)[]>;
  /**
   * Returns a landed transaction, or null if the node does not know it. `newer` stands for a
   * version above 0, which this library never signs.
   */
  transaction(
    signature: string,
    options?: CallOptions,
  ): Promise<LandedTransaction | 'newer' | null>;
  /** Returns signatures, newest first, that are older than `before`. */
  signaturesFor(
    address: Address,
    options?: CallOptions & {
      readonly limit?: number;
      readonly before?: string | undefined;
    },
  ): Promise<SignatureInfo[]>;
  genesisHash(options?: CallOptions): Promise<string>;
  /**
   * Calls the listener once, when the signature is confirmed or failed. It never calls if the node
   * has no WebSocket. Returns a function that unsubscribes.
   */
  onSignature(signature: string, listener: (error: string | null) => void): () => void;
  /**
   * Calls the listener at each change of an account at `confirmed`, once a WebSocket is open. It
   * never calls if the node has no WebSocket.
   */
  onAccount(address: Address, listener: () => void): AccountWatch;
  /**
   * Returns a connection for each node alone, for answers that must come from the same node. Nodes
   * that failed lately come last. Each call returns the same objects.
   */
  perNode(): readonly Rpc[];
  /** @param reason - Error with which open calls reject; `rpc_unavailable` by default. */
  close(reason?: Error): void;
}
