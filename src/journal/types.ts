import type { ErrorCode } from '../errors.js';
import type { Outbox } from '../outbox/outbox.js';
import type { Cap } from '../policy/caps.js';
import type { SwapCost } from '../policy/cost.js';
import type { Receipt } from '../receipt.js';
import type { Fresh, Taken } from './account-balance.js';
import type { Ledger } from './balance-ledger.js';
import type { Locks } from './locks.js';
import type { AttemptState } from './states.js';

/** A signed payment, with the data to present it again and to find it on chain. */
export interface SignedPayment {
  readonly header: { readonly name: string; readonly value: string };
  /** Our own signature, base58. */
  readonly payerSignature: string;
  /** The token account that the payment leaves from. */
  readonly source: string;
  /** Text of the payment's memo: it finds the payment among the account's transactions. */
  readonly memo?: string;
  /** Base units in `source` before the payment was signed, as a decimal string, as of a slot. */
  readonly before?: { readonly amount: string; readonly slot: number };
  /** The payment cannot have landed before this slot. */
  readonly slot: number;
  readonly blockhash: string;
  /** The blockhash was valid as of this slot. */
  readonly blockhashSlot: number;
  /** Decimal string. */
  readonly lastValidBlockHeight: string;
  /**
   * Whether the header carries a payment id that the seller asked for. The seller then recognises
   * the same bytes, and answers as it did the first time.
   */
  readonly hasPaymentId?: boolean;
}

/** A swap that an attempt signed; its outcome is added later. */
export interface SignedSwap {
  readonly signature: string;
  /** Base64 of the signed transaction. */
  readonly transaction: string;
  readonly inputMint: string;
  readonly outputMint: string;
  readonly provider: string;
  /** The wallet's own token accounts that the swap takes from and brings to. */
  readonly source: string;
  readonly output: string;
  /**
   * Balance of `source` before the swap was signed, as of a slot: base units, or the wallet's
   * lamports if the swap sells SOL. Decimal string.
   */
  readonly before?: { readonly amount: string; readonly slot: number };
  readonly blockhash: string;
  /** The blockhash was valid as of this slot. */
  readonly blockhashSlot: number;
  /** Decimal string. */
  readonly lastValidBlockHeight: string;
  /** Quoted amounts, which are reported if no node gives the amounts that the swap moved. */
  readonly quoted: SwapAmounts;
  /**
   * Set if a relayer paid the swap's lamports: its fee in base units of a token as a decimal
   * string, and our own signature (base58), because `signature` is the relayer's. Absent: the
   * wallet paid.
   */
  readonly relay?: {
    readonly payerSignature: string;
    readonly mint: string;
    readonly fee: string;
  };
  /** Absent until the chain has decided. */
  readonly outcome?: SwapOutcome;
}

/** Amounts that a swap takes and brings. Decimal strings of base units. */
export interface SwapAmounts {
  readonly inAmount: string;
  readonly outAmount: string;
  readonly feeLamports: string;
}

export type SwapOutcome =
  /**
   * `rentLamports`: rent of token accounts that the swap opened and that stay open; absent if no
   * node gave it. Decimal string.
   */
  | ({ readonly state: 'confirmed'; readonly rentLamports?: string } & SwapAmounts)
  /** `feeLamports`: network fee of a swap that landed and failed. Decimal string. */
  | { readonly state: 'failed'; readonly code: ErrorCode; readonly feeLamports?: string };

/**
 * One attempt to pay, from its reservation until the chain has decided. JSON-safe; amounts are
 * decimal strings of base units.
 */
export interface Attempt {
  readonly id: string;
  readonly wallet: string;
  readonly network: string;
  readonly state: AttemptState;
  /**
   * Whether the purchase reached the caller: the answer is a success, and was read to its end or
   * not at all.
   */
  readonly delivered: boolean;
  /**
   * When a repeated call was first about to report that the payment is spent (`tellingAt`), and
   * when it had reported that (`toldAt`). Milliseconds since the epoch.
   */
  readonly tellingAt?: number;
  readonly toldAt?: number;
  readonly url: string;
  readonly method: string;
  readonly host: string;
  /** Equal for requests with the same method, URL and body. */
  readonly fingerprint: string;
  readonly idempotencyKey?: string;
  /**
   * Id of the earlier attempt at the same purchase, if the caller's policy allows to sign again
   * after it (`resign`).
   */
  readonly resigns?: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly payTo: string;
  readonly mint: string;
  readonly amount: string;
  /** Millionths of a dollar as a decimal string; absent if the mint has no price. */
  readonly microUsd?: string;
  /**
   * When the chain had shown what left: caps over time count the attempt from then. Absent: from
   * `at`. Milliseconds since the epoch.
   */
  readonly leftAt?: number;
  /** Cost of the attempt's swaps, as the chain showed it. */
  readonly swapped?: SwapCost;
  /** The most that a swap takes that was about to be signed, or is signed and not decided. */
  readonly swapping?: SwapCost;
  /** The swap that was signed last. */
  readonly swap?: SignedSwap;
  readonly payment?: SignedPayment;
  /**
   * Why the seller's answer does not show what became of the payment. Absent while that is not
   * known.
   */
  readonly doubt?: ErrorCode;
  /** Absent until a payment is signed. */
  readonly receipt?: Receipt;
}

/** The owner of attempts: one wallet on one network. */
export interface Owner {
  readonly wallet: string;
  /** CAIP-2. */
  readonly network: string;
}

/** A cap without room. */
export interface CapBlock {
  readonly cap: Cap;
  /** In the cap's unit. */
  readonly used: bigint;
}

/** An earlier attempt with the same key is reserved, signed or settled. */
export interface KeyTaken {
  readonly taken: Attempt;
}

/** Tokens of an account that are to be held for an attempt. */
export interface Hold {
  readonly account: string;
  /** The time range in which the account's balance must have been read. */
  readonly fresh: Fresh;
  /** Name of a lock: while it is held, nothing may be taken from the account. */
  readonly unless: string;
}

/** Changes that happen in one step with the write of an attempt, or not at all. */
export interface Along {
  /** Attempt ids that the writer claims, and ids that it no longer claims: see {@link Claims}. */
  readonly claim?: readonly string[];
  readonly drop?: readonly string[];
  /** Ends the attempt's hold on an account: the tokens left, in `slot` as the chain shows it. */
  readonly spend?: { readonly account: string; readonly slot: number };
  /** Ends the attempt's holds on accounts: the tokens stayed. */
  readonly free?: readonly string[];
}

/** Conditions on the attempts to list; an attempt must meet all of them. */
export interface AttemptFilter {
  readonly state?: AttemptState;
  /** Only attempts that were made at this time or later; milliseconds since the epoch. */
  readonly since?: number;
}

/**
 * Keeps attempts and their costs. A write has happened when its promise resolves. If the journal is
 * durable, a write outlives the process. The write of a signed payment or swap also outlives a loss
 * of power, because the bytes may leave right after it.
 */
export interface Journal {
  /**
   * Writes a new attempt if its key is free and every cap that counts it has room: checked and
   * written as one step. Otherwise writes nothing and says why. The key is free if every attempt
   * with it is unsettled, unpaid or abandoned, or is the attempt that the new attempt `resigns`.
   *
   * @param hold - Tokens to hold in the same step, if they are free. Resolves to what was taken; to
   *   undefined if the tokens were not free, and the attempt was written all the same.
   */
  reserve(
    attempt: Attempt,
    caps: readonly Cap[],
    along?: Along,
    hold?: Hold,
  ): Promise<CapBlock | KeyTaken | Taken | undefined>;
  /**
   * Replaces an attempt as a whole: fields that the new record lacks are removed, also the key.
   * If `mayFollow` forbids the new state, a decided attempt stays as it is; for any other attempt
   * the write rejects. It also rejects if the attempt was released: another process took it for
   * orphaned, so it must not go on. And it rejects if `dropsSwap` says that the write would drop a
   * swap that was signed since.
   */
  put(attempt: Attempt, along?: Along): Promise<void>;
  /**
   * As {@link Journal.put}, if each of `caps` has room for what the attempt takes more than before:
   * checked and written as one step. Otherwise writes nothing, and resolves to the cap without
   * room.
   */
  raise(attempt: Attempt, caps: readonly Cap[]): Promise<CapBlock | undefined>;
  /**
   * Forgets an attempt that signed no payment, if no swap of it may still land and its swaps cost
   * nothing; its price counts no more. For any other attempt, only makes the changes `along`.
   */
  release(id: string, along?: Along): Promise<void>;
  /**
   * Resolves to the attempts under the key, if there is a key. Otherwise to the attempts at the
   * same request that were not delivered, or that were signed after an earlier attempt (`resigns`).
   * In the order in which they were made.
   */
  similar(
    owner: Owner,
    fingerprint: string,
    idempotencyKey: string | undefined,
  ): Promise<Attempt[]>;
  /** Yields an owner's attempts in the order in which they were made. */
  attempts(owner: Owner, filter?: AttemptFilter): AsyncIterable<Attempt>;
  /**
   * Yields each owner of open attempts (`reserved`, `abandoned` or `signed`) once: a service that
   * pays for many wallets reconciles them when it starts. Without this method, it reconciles a
   * wallet when a call names the wallet.
   */
  owners?(): AsyncIterable<Owner>;
  /**
   * Resolves to the used amount of each cap at a time, in the cap's unit. An amount that left
   * counts for the cap's window at least; a journal that keeps sums may count it somewhat longer,
   * such as 15 minutes for a window of a day. A reservation counts however old it is, because it is
   * still to be spent. A signed attempt that is not decided counts a day longer than the window,
   * because its tokens may leave later than it was signed.
   */
  used(owner: Owner, caps: readonly Cap[], now: number): Promise<bigint[]>;
  /**
   * Coordinates payers in several processes. A journal with this method makes the changes that go
   * `along` with a write. A journal without it serves the payers of one process, and gets no
   * changes along: see `withCoordination`.
   */
  coordination?(owner: Owner): Coordination;
  /** Events that the journal's writes cause, if the journal was made to keep them. */
  readonly outbox?: Outbox;
}

/** State that the payers of one wallet share, besides its attempts. */
export interface Coordination {
  readonly ledger: Ledger;
  readonly locks: Locks;
  readonly claims: Claims;
  /**
   * Counts up under a name, from 1 or more, and never gives a number twice. The number tells apart
   * payments without a nonce of their own.
   */
  next(name: string): Promise<number>;
}

/** Marks the attempts that calls work on. A claim ends with its process, however that ends. */
export interface Claims {
  take(ids: readonly string[]): Promise<void>;
  drop(ids: readonly string[]): Promise<void>;
  /** Resolves to the ids that are claimed. */
  live(ids: readonly string[]): Promise<ReadonlySet<string>>;
}
