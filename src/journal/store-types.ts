import type { Cap } from '../policy/caps.js';
import type { Spending } from './spending.js';
import type { Remembered, SpentKeys } from './spent-keys.js';
import type { Attempt, AttemptFilter, CapBlock, KeyTaken, Owner } from './types.js';

/** An attempt, and how many were made before it. */
export interface Made {
  readonly made: number;
  readonly attempt: Attempt;
}

/** All that a store knows, but for what is spent. */
export interface StoreContent {
  /** How many attempts were made. */
  readonly made: number;
  /** Those that stay, and those that are to go into an archive: in the order they were made. */
  readonly kept: readonly Made[];
  readonly closed: readonly Made[];
  readonly keys: ReturnType<SpentKeys['content']>;
}

/** Where a store that keeps all attempts puts those that are closed. */
export interface Archive {
  /** The attempt that stands there. */
  recall(place: number): Attempt;
  /** Ids of some that were closed last, the oldest first. */
  readonly past: readonly string[];
  /** So many stay, of those that were closed last: a call may still be at them. */
  readonly recent: number;
}

/**
 * The attempts of a journal: those that something may still happen to, and the last of the others;
 * of all that there ever were, what they took of caps, and which keys are spent.
 * It knows nothing of promises. It says what may happen, and changes only by `keep` and `remove`.
 * What it is given belongs to it, and what it gives too.
 */
export interface AttemptStore {
  /** As the journal's: why an attempt cannot be made. Throws `TypeError` if its id is there. */
  refusal(attempt: Attempt, caps: readonly Cap[]): CapBlock | KeyTaken | undefined;
  /**
   * As the journal's `put`, and with caps its `raise`: what the attempt would replace; undefined if
   * that is left as it is. Throws if the attempt must not go on.
   */
  replacing(attempt: Attempt, caps?: readonly Cap[]): Attempt | CapBlock | undefined;
  /** The attempt of an id if it may be released. */
  releasable(id: string): Attempt | undefined;
  /** Takes down an attempt as it is from now on; no rule is asked. */
  keep(attempt: Attempt): void;
  /** Takes down that an attempt was released. */
  remove(id: string): void;
  similar(owner: Owner, fingerprint: string, idempotencyKey: string | undefined): Attempt[];
  /**
   * In the order they were made; without an owner, those of all. What is over may be gone by the
   * time that it is read.
   */
  attempts(owner: Owner | undefined, filter?: AttemptFilter): Iterable<Attempt>;
  owners(): Owner[];
  used(owner: Owner, caps: readonly Cap[], now: number): bigint[];
  get(id: string): Attempt | undefined;
  /** How many attempts were made before it. */
  madeBefore(id: string): number;
  /** So many attempts were made before the next one that is kept. */
  count(made: number): void;
  /** A purchase under a key was over at a time: in brief, or where it stands. */
  spend(owner: Owner, key: string, one: Remembered, at: number): void;
  content(): StoreContent;
  /** Ids of some that were closed last, the oldest first. */
  past(): Iterable<string>;
  /** What left, as far as the chain has said so. */
  readonly spending: Spending;
}
