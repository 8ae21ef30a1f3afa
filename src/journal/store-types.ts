import type { Cap } from '../policy/caps.js';
import type { Spending } from './spending.js';
import type { Remembered, SpentKeys } from './spent-keys.js';
import type { Attempt, AttemptFilter, CapBlock, KeyTaken, Owner } from './types.js';

/** An attempt, and the number of attempts that were made before it. */
export interface Made {
  readonly made: number;
  readonly attempt: Attempt;
}

/** The content of a store, without the sums of what is spent. */
export interface StoreContent {
  /** Number of attempts that were ever made. */
  readonly made: number;
  /** Attempts that stay in the store, in the order in which they were made. */
  readonly kept: readonly Made[];
  /** Attempts that go into an archive, in the order in which they were made. */
  readonly closed: readonly Made[];
  readonly keys: ReturnType<SpentKeys['content']>;
}

/** Keeps the closed attempts of a store that drops none. */
export interface Archive {
  recall(place: number): Attempt;
  /** Ids of attempts that closed last, the oldest first. */
  readonly past: readonly string[];
  /** Number of newly closed attempts that stay in the store: a call may still work on them. */
  readonly recent: number;
}

/**
 * The attempts of a journal: open attempts, and the attempts that closed last. Of all attempts that
 * were ever made, it knows what they took of caps, and which keys are spent.
 * It is synchronous. It says what may happen, and changes only by `keep` and `remove`.
 * The objects that it is given belong to it. What a caller of the journal gets is a copy, because an
 * application may write to the receipts that it lists.
 */
export interface AttemptStore {
  /** Returns why `reserve` refuses, if it does. Throws `TypeError` if the id is used. */
  refusal(attempt: Attempt, caps: readonly Cap[]): CapBlock | KeyTaken | undefined;
  /**
   * Returns the attempt that the journal's `put`, or with caps its `raise`, would replace; undefined
   * if that one is decided, and so stays. Throws if the attempt must not go on.
   */
  replacing(attempt: Attempt, caps?: readonly Cap[]): Attempt | CapBlock | undefined;
  releasable(id: string): Attempt | undefined;
  /** Records an attempt in its new state, without any check. */
  keep(attempt: Attempt): void;
  remove(id: string): void;
  similar(owner: Owner, fingerprint: string, idempotencyKey: string | undefined): Attempt[];
  /**
   * Yields attempts in the order in which they were made; without an owner, of all owners. Leaves
   * out an attempt that the store drops meanwhile.
   */
  attempts(owner: Owner | undefined, filter?: AttemptFilter): Iterable<Attempt>;
  owners(): Owner[];
  used(owner: Owner, caps: readonly Cap[], now: number): bigint[];
  /** Whether an attempt has ended, as far back as ids are kept. */
  hasEnded(id: string): boolean;
  isOpen(id: string): boolean;
  madeBefore(id: string): number;
  /** Sets the number of attempts that were made before the next new attempt. */
  count(made: number): void;
  /** Records when a purchase under a key was over. */
  spend(owner: Owner, key: string, purchase: Remembered, at: number): void;
  content(): StoreContent;
  /** Yields ids of attempts that closed last, the oldest first. */
  past(): Iterable<string>;
  /** Sums of the costs of attempts that are no longer open. */
  readonly spending: Spending;
}
