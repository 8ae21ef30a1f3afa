import type { ErrorCode } from '../errors.js';
import type { Outbox } from '../outbox/outbox.js';
import type { Cap } from '../policy/caps.js';
import type { SwapCost } from '../policy/cost.js';
import type { Receipt } from '../receipt.js';
import type { Fresh } from './account-balance.js';
import type { Ledger, Taken } from './balance-ledger.js';
import type { Locks } from './locks.js';
import type { AttemptState } from './states.js';

/** A signed payment, with all that presenting it again or finding it on chain needs. */
export interface SignedPayment {
  readonly header: { readonly name: string; readonly value: string };
  /** Base58, ours. */
  readonly payerSignature: string;
  /** The token account it leaves from. */
  readonly source: string;
  /** What its memo says, if it has one: how to find it among the account's transactions. */
  readonly memo?: string;
  /** What the source held before it was signed, as of a slot: base units as a decimal string. */
  readonly before?: { readonly amount: string; readonly slot: number };
  /** It cannot have landed before this slot. */
  readonly slot: number;
  readonly blockhash: string;
  /** The blockhash was valid as of this slot. */
  readonly blockhashSlot: number;
  /** Decimal string. */
  readonly lastValidBlockHeight: string;
  /**
   * The header carries a payment id that the seller asked for: it knows the same bytes again, and
   * answers them as it did the first time.
   */
  readonly hasPaymentId?: boolean;
}

/** A swap that an attempt signed: bytes first, outcome later. */
export interface SignedSwap {
  readonly signature: string;
  /** Base64 of the signed transaction. */
  readonly transaction: string;
  readonly inputMint: string;
  readonly outputMint: string;
  readonly provider: string;
  /** The wallet's own token accounts that it takes from and brings to. */
  readonly source: string;
  readonly output: string;
  /**
   * What it takes from held so much before it was signed, as of a slot: base units, or lamports if
   * it sells SOL. Decimal string.
   */
  readonly before?: { readonly amount: string; readonly slot: number };
  readonly blockhash: string;
  /** The blockhash was valid as of this slot. */
  readonly blockhashSlot: number;
  /** Decimal string. */
  readonly lastValidBlockHeight: string;
  /** What it was to take and bring: what is told of it if no node gives what it did. */
  readonly quoted: SwapAmounts;
  /**
   * A relayer paid its lamports: what it took of a token, in base units as a decimal string, and our
   * own signature (base58), as `signature` is the relayer's. Absent: the wallet paid them.
   */
  readonly relay?: {
    readonly payerSignature: string;
    readonly mint: string;
    readonly fee: string;
  };
  /** Absent until the chain has decided. */
  readonly outcome?: SwapOutcome;
}

/** What a swap takes and brings. Decimal strings of base units. */
export interface SwapAmounts {
  readonly inAmount: string;
  readonly outAmount: string;
  readonly feeLamports: string;
}

/** What became of a swap. */
export type SwapOutcome =
  /**
   * `rentLamports`: of token accounts that it made and that stay; absent if no node gave what it
   * did. Decimal string.
   */
  | ({ readonly state: 'confirmed'; readonly rentLamports?: string } & SwapAmounts)
  /** `feeLamports`: what it cost if it landed and failed. Decimal string. */
  | { readonly state: 'failed'; readonly code: ErrorCode; readonly feeLamports?: string };

/**
 * One attempt to pay, from its reservation to the chain's word. JSON-safe; amounts are decimal
 * strings of base units.
 */
export interface Attempt {
  readonly id: string;
  readonly wallet: string;
  readonly network: string;
  readonly state: AttemptState;
  /**
   * What was bought reached the caller: a success that was read to its end, or that nothing read.
   */
  readonly delivered: boolean;
  /**
   * When a repeated call was first about to be told that this is spent, and when it had been.
   * Milliseconds since the epoch.
   */
  readonly tellingAt?: number;
  readonly toldAt?: number;
  readonly url: string;
  readonly method: string;
  readonly host: string;
  /** The same for equal requests: method, URL and body. */
  readonly fingerprint: string;
  readonly idempotencyKey?: string;
  /**
   * The attempt at the same purchase that this one was signed after, if the caller's policy
   * allows that (`resign`).
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
   * When the chain had shown what left, which caps over time count from then. Absent: from `at`.
   * Milliseconds since the epoch.
   */
  readonly leftAt?: number;
  /** What its swaps took, as the chain showed it. */
  readonly swapped?: SwapCost;
  /** What a swap takes at most that was about to be signed, or was signed and is not decided. */
  readonly swapping?: SwapCost;
  /** The swap that was signed last. */
  readonly swap?: SignedSwap;
  readonly payment?: SignedPayment;
  /**
   * Why the seller's word does not say what became of the payment, once it is known that it does
   * not.
   */
  readonly doubt?: ErrorCode;
  /** Absent until a payment is signed. */
  readonly receipt?: Receipt;
}

/** Whose attempts: one wallet on one network. */
export interface Owner {
  readonly wallet: string;
  /** CAIP-2. */
  readonly network: string;
}

/** A cap that has no room. */
export interface CapBlock {
  readonly cap: Cap;
  /** In the cap's unit. */
  readonly used: bigint;
}

/** An earlier attempt bears the key, and has not come to nothing. */
export interface KeyTaken {
  readonly taken: Attempt;
}

/** Tokens that an attempt is to hold. */
export interface Hold {
  readonly account: string;
  /** Of when the balance has to be that they are taken from. */
  readonly fresh: Fresh;
  /** A lock under which nothing may be taken from it. */
  readonly unless: string;
}

/** What happens in one step with the write of an attempt, or not at all. */
export interface Along {
  /** What this process claims from then on, and what no longer: see {@link Claims}. */
  readonly claim?: readonly string[];
  readonly drop?: readonly string[];
  /** Ends its hold on an account: the tokens left, in `slot` as the chain shows it. */
  readonly spend?: { readonly account: string; readonly slot: number };
  /** Ends its holds on accounts: the tokens stayed. */
  readonly free?: readonly string[];
}

/** Which attempts to list; all that is given must hold. */
export interface AttemptFilter {
  readonly state?: AttemptState;
  /** Made then or later; milliseconds since the epoch. */
  readonly since?: number;
}

/**
 * Where attempts and what they cost are kept. A write has happened when its promise resolves. If
 * the journal is durable, it outlives the process; and that of a signed payment or swap, which may
 * leave then, a loss of power too.
 */
export interface Journal {
  /**
   * Writes a new attempt if its key is free and every cap that counts it has room: checked and
   * written as one step. Otherwise writes nothing and says why. The key is free if all that bear
   * it are unsettled or abandoned, or are the one that the attempt `resigns`.
   *
   * @param hold - What to hold for it in the same step, if it is there. Resolves to what was taken;
   *   to undefined if it was not, and the attempt was written all the same.
   */
  reserve(
    attempt: Attempt,
    caps: readonly Cap[],
    along?: Along,
    hold?: Hold,
  ): Promise<CapBlock | KeyTaken | Taken | undefined>;
  /**
   * Replaces an attempt as a whole: what the next state lacks, its key too, is gone. If
   * `mayFollow` says that the state cannot follow, a decided attempt stays as it is. Rejects if
   * another one is, or was released: another process took it for an orphan, and it must not go on;
   * and if `dropsSwap` says that it would end an attempt as if a swap that it has signed since
   * were not there.
   */
  put(attempt: Attempt, along?: Along): Promise<void>;
  /**
   * As {@link Journal.put}, if each cap of these has room for what the attempt takes of it more
   * than before: checked and written as one step.
   * Otherwise nothing is written, and the cap without room comes back.
   */
  raise(attempt: Attempt, caps: readonly Cap[]): Promise<CapBlock | undefined>;
  /**
   * Forgets an attempt that signed no payment, of which no swap may still land, and whose swaps
   * cost nothing; its price counts no more. Nothing for any other, but for what goes `along`.
   */
  release(id: string, along?: Along): Promise<void>;
  /**
   * Attempts under the same key, if one is given; else those at the same request that a repeated
   * call may have to do with: whose answer was not delivered, or that were signed after another
   * (`resigns`). In the order they were made.
   */
  similar(
    owner: Owner,
    fingerprint: string,
    idempotencyKey: string | undefined,
  ): Promise<Attempt[]>;
  /** An owner's attempts in the order they were made. */
  attempts(owner: Owner, filter?: AttemptFilter): AsyncIterable<Attempt>;
  /**
   * Whose attempts are still open (`reserved`, `abandoned` or `signed`), each owner once: what a
   * service that pays for many takes up when it starts. Without it, each is taken up when its
   * wallet is asked for.
   */
  owners?(): AsyncIterable<Owner>;
  /**
   * What is spent or reserved of each cap at a time, in the cap's unit. What has left counts as long
   * as the cap's window at least; a journal that keeps sums may count it somewhat longer, such as
   * 15 minutes for a window of a day. What is only reserved counts however long ago that was: it is
   * yet to be spent. What is signed and not decided counts a day longer than its window: it may
   * leave later than it was signed.
   */
  used(owner: Owner, caps: readonly Cap[], now: number): Promise<bigint[]>;
  /**
   * What keeps payers in several processes out of each other's way. A journal that has it sees to
   * what is given `along` with a write. One without it is for the payers of one process, and is
   * given nothing along: see `alongWith`.
   */
  coordination?(owner: Owner): Coordination;
  /**
   * What is to be told to the outside of what it writes: there if the journal was made to keep
   * one.
   */
  readonly outbox?: Outbox;
}

/** What the payers of one wallet share, besides its attempts. */
export interface Coordination {
  readonly ledger: Ledger;
  readonly locks: Locks;
  readonly claims: Claims;
  /**
   * Counts up under a name, from 1 or more, never twice the same: what tells apart payments that
   * carry no nonce of their own.
   */
  next(name: string): Promise<number>;
}

/** Which attempts a call is at. A claim ends with its process, however that ends. */
export interface Claims {
  take(ids: readonly string[]): Promise<void>;
  drop(ids: readonly string[]): Promise<void>;
  /** Those of some attempts that are claimed. */
  live(ids: readonly string[]): Promise<ReadonlySet<string>>;
}
