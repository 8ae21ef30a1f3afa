import type { Cap } from '../policy/caps.js';
import type { Receipt } from '../receipt.js';

/**
 * Where an attempt to pay stands.
 *
 * - `reserved`: its price counts against the caps; nothing is signed.
 * - `signed`: a payment is signed and written here; it may have left.
 * - `settled`: our own RPC showed it.
 * - `unsettled`: proved that it can never land; its price counts no more.
 */
export type AttemptState = 'reserved' | 'signed' | 'settled' | 'unsettled';

/** A signed payment, with all that presenting it again or finding it on chain needs. */
export interface SignedPayment {
  readonly header: { readonly name: string; readonly value: string };
  /** Base58, ours. */
  readonly payerSignature: string;
  /** The token account it leaves from. */
  readonly source: string;
  /** What its memo says, where it has one: how to find it among the account's transactions. */
  readonly memo?: string;
  /** It cannot have landed before this slot. */
  readonly slot: number;
  readonly blockhash: string;
  /** Decimal string. */
  readonly lastValidBlockHeight: string;
}

/** A swap that an attempt signed: bytes first, outcome later. */
export interface SignedSwap {
  readonly signature: string;
  /** Base64 of the signed transaction. */
  readonly transaction: string;
  /** Decimal string. */
  readonly lastValidBlockHeight: string;
}

/** One attempt to pay, from its reservation to the chain's word. JSON-safe; amounts are decimal strings of base units. */
export interface Attempt {
  readonly id: string;
  readonly wallet: string;
  readonly network: string;
  readonly state: AttemptState;
  /** What was bought reached the caller: a success, or another answer that came with a settlement. */
  readonly delivered: boolean;
  /** When a repeated call was first told that this is spent. Milliseconds since the epoch. */
  readonly toldAt?: number;
  readonly url: string;
  readonly method: string;
  readonly host: string;
  /** The same for equal requests: method, URL and body. */
  readonly fingerprint: string;
  readonly idempotencyKey?: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly mint: string;
  readonly amount: string;
  /** Millionths of a dollar as a decimal string; absent where the mint has no price. */
  readonly microUsd?: string;
  readonly swap?: SignedSwap;
  readonly payment?: SignedPayment;
  /** Absent until a payment is signed. */
  readonly receipt?: Receipt;
}

/** Whose attempts: one wallet on one network. */
export interface Owner {
  readonly wallet: string;
  /** CAIP-2. */
  readonly network: string;
}

/** A cap that has no room. Millionths of a dollar. */
export interface CapBlock {
  readonly cap: Cap;
  readonly used: bigint;
}

/** An earlier attempt bears the key, and has not come to nothing. */
export interface KeyTaken {
  readonly taken: Attempt;
}

/** Where attempts and what they cost are kept. A write has happened, durably where the journal is durable, when its promise resolves. */
export interface Journal {
  /**
   * Writes a new attempt if its key is free and every cap has room for it: checked and written as one step. Otherwise writes nothing
   * and says why.
   */
  reserve(attempt: Attempt, caps: readonly Cap[]): Promise<CapBlock | KeyTaken | undefined>;
  /** Replaces an attempt as a whole: what the next state lacks, its key too, is gone. */
  put(attempt: Attempt): Promise<void>;
  /** Forgets an attempt that never signed a payment; its price counts no more. */
  release(id: string): Promise<void>;
  /** Attempts at the same request, or under the same key where one is given; in the order they were made. */
  similar(owner: Owner, fingerprint: string, idempotencyKey: string | undefined): Promise<Attempt[]>;
  /** An owner's attempts in the order they were made. */
  attempts(owner: Owner, state?: AttemptState): AsyncIterable<Attempt>;
  /** What is spent or reserved of each cap at a time, in millionths of a dollar. */
  used(owner: Owner, caps: readonly Cap[], now: number): Promise<bigint[]>;
}
