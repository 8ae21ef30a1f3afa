import type { Address } from '../types.js';
import type { AccountWatch } from './signature-socket.js';

/** An account as the node returns it. */
export interface Account {
  readonly owner: Address;
  readonly lamports: bigint;
  readonly data: Uint8Array;
  readonly executable: boolean;
}

export type Commitment = 'processed' | 'confirmed' | 'finalized';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** The node answers from this slot or later, or fails. */
  readonly minContextSlot?: number | undefined;
}

export interface SignatureStatus {
  readonly slot: number;
  readonly commitment: Commitment;
  /** Why the transaction failed, as the node words it; null if it succeeded. */
  readonly error: string | null;
}

/** What one program called in another while a transaction ran, at any depth. */
export interface InnerInstruction {
  /** The position of the top-level instruction that it ran under. */
  readonly outer: number;
  readonly program: Address;
  /**
   * Of the System and both token programs, as nodes name it (`transfer`, `setAuthority`, ...);
   * undefined for what has no name.
   */
  readonly name: string | undefined;
  /**
   * Every address that it names: of one that the node has parsed also those in its data, else its
   * accounts.
   */
  readonly addresses: readonly Address[];
  /** The account that a System instruction creates. */
  readonly creates: Address | undefined;
}

export interface Simulation {
  readonly slot: number;
  /** In the node's own words, as they came: to be judged, not shown. */
  readonly error: string | null;
  readonly logs: readonly string[];
  readonly unitsConsumed: bigint;
  /** The watched accounts afterwards, in order; null if they do not exist. */
  readonly accounts: readonly (Account | null)[];
  /** In the order in which they ran; undefined if the node does not show them. */
  readonly inner: readonly InnerInstruction[] | undefined;
}

export interface TokenBalanceChange {
  readonly account: Address;
  readonly mint: Address;
  readonly owner: Address;
  readonly before: bigint;
  readonly after: bigint;
}

export interface LandedTransaction {
  readonly slot: number;
  readonly error: string | null;
  /** All signatures, fee payer's first; base58. */
  readonly signatures: readonly string[];
  readonly feeLamports: bigint;
  readonly tokenChanges: readonly TokenBalanceChange[];
  /**
   * Whether the node keeps token balances at all: a named account that is not among them was no
   * token account.
   */
  readonly tellsTokens: boolean;
  /** Lamports before and after, by account. */
  readonly lamports: ReadonlyMap<Address, { readonly before: bigint; readonly after: bigint }>;
}

/** A slot and the number of blocks up to it, of one and the same block. */
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
 * A Solana node, or several with failover. Every call is bounded by a deadline and rejects with a
 * `TransportError` (`rpc_unavailable`, `rate_limited`, `timeout`, `invalid_response`,
 * `rpc_wrong_network`) that says nothing moved, or with the signal's reason.
 * Reads are at `confirmed` unless they say otherwise.
 */
export interface Rpc {
  /** At most 100 addresses a call; at a commitment, or at `confirmed`. */
  accounts(
    addresses: readonly Address[],
    options?: CallOptions & { readonly commitment?: Commitment },
  ): Promise<{ slot: number; accounts: (Account | null)[] }>;
  /** Token accounts of an owner, of both token programs. */
  tokenAccounts(
    owner: Address,
    options?: CallOptions,
  ): Promise<{ slot: number; accounts: { address: Address; account: Account }[] }>;
  latestBlockhash(
    options?: CallOptions,
  ): Promise<{ blockhash: string; lastValidBlockHeight: bigint; slot: number }>;
  /** The newest block at a commitment. */
  tip(commitment: Commitment, options?: CallOptions): Promise<Tip>;
  /**
   * Whether a transaction with it can land yet, as of the slot: at a commitment, or at `confirmed`.
   */
  isBlockhashValid(
    blockhash: string,
    options?: CallOptions & { readonly commitment?: Commitment },
  ): Promise<{ slot: number; valid: boolean }>;
  /** The oldest slot that the node's history still holds. */
  firstSlot(options?: CallOptions): Promise<number>;
  /** Lamports that make an account of `bytes` rent-exempt. */
  rent(bytes: number, options?: CallOptions): Promise<bigint>;
  /** Micro-lamports per compute unit that recent transactions paid on these writable accounts. */
  priorityFees(accounts: readonly Address[], options?: CallOptions): Promise<readonly bigint[]>;
  /**
   * Runs unsigned or signed wire bytes without landing them. Signatures are not verified, the
   * blockhash is replaced.
   */
  simulate(
    transaction: Uint8Array,
    watch: readonly Address[],
    options?: CallOptions,
  ): Promise<Simulation>;
  /** Hands wire bytes to the node: no preflight, no retries of its own. */
  send(transaction: Uint8Array, options?: CallOptions): Promise<void>;
  statuses(
    signatures: readonly string[],
    options?: CallOptions & { readonly history?: boolean },
  ): Promise<(SignatureStatus | null)[]>;
  /**
   * A landed transaction, or null if the node does not know it; `newer` for one of a version above
   * 0, which is never ours.
   */
  transaction(
    signature: string,
    options?: CallOptions,
  ): Promise<LandedTransaction | 'newer' | null>;
  /** Newest first; older than `before`, newer than `until`. */
  signaturesFor(
    address: Address,
    options?: CallOptions & {
      readonly limit?: number;
      readonly before?: string | undefined;
      readonly until?: string;
    },
  ): Promise<SignatureInfo[]>;
  genesisHash(options?: CallOptions): Promise<string>;
  /**
   * Calls back once when the signature is confirmed or failed, if the node has WebSocket; silent
   * if it has not. Returns the unsubscription.
   */
  onSignature(signature: string, listener: (error: string | null) => void): () => void;
  /**
   * Calls at each change of an account at `confirmed`, if the node has WebSocket, and once it
   * has: silent before, and where it has not.
   */
  onAccount(address: Address, listener: () => void): AccountWatch;
  /**
   * Each node by itself, the same object each time, those that failed lately last: for answers that
   * only say something together.
   */
  alone(): readonly Rpc[];
  /** @param reason - What the calls under way reject with, instead of `rpc_unavailable`. */
  close(reason?: Error): void;
}
