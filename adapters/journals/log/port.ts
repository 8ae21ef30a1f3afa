import type { Made } from '../../../src/journal/store-types.js';
import type { Owner } from '../../../src/journal/types.js';
import type { OutboxListeners } from '../../../src/outbox/port.js';
import type { FileRecord } from './records.js';
import type { State } from './state.js';

/** What is to be written, and what it leads to. Nothing changes before it is written. */
export interface Step<T> {
  readonly records: readonly FileRecord[];
  readonly result: T;
  /** Takes back what was done ahead, if it is not written. */
  undo?(): void;
  /** Its caller is told only once it is on the disk: what takes it back if it does not get there. */
  readonly inverse?: readonly FileRecord[] | undefined;
}

export type Decide<T> = (state: State) => Step<T>;

/** What processes share: what each of them writes, all read in the same order. */
export interface JournalLog {
  /** The id of this process. */
  readonly me: string;
  /** Takes a step at what the log says, as the next that happens; resolves once it is written. */
  run<T>(decide: Decide<T>): Promise<T>;
  /** Writes records as soon as that can be done. */
  later(records: readonly FileRecord[]): void;
  /** Those of some processes that live. What others leave is taken from them. */
  living(ids: Iterable<string>): Promise<ReadonlySet<string>>;
  /** Closed attempts that are no longer in it. */
  readonly history: Past;
  /** Whether events are kept, whatever journal writes what they tell of. */
  keepsEvents: boolean;
  /** What hears of changes to the outbox. */
  readonly listeners: OutboxListeners;
  /** After all that was begun. */
  close(): Promise<void>;
}

/** Where the closed attempts are that a journal has no more. */
export interface Past {
  /**
   * Those among so many bytes, in the order they were made; without an owner, those of all.
   *
   * @param since - Those that were written before it may be left out.
   */
  attempts(
    length: number,
    owner: Owner | undefined,
    since: number,
  ): AsyncIterable<Made> | Iterable<Made>;
}
