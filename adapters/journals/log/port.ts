import type { Made } from '../../../src/journal/store-types.js';
import type { Owner } from '../../../src/journal/types.js';
import type { OutboxListeners } from '../../../src/outbox/port.js';
import type { FileRecord } from './records.js';
import type { State } from './state.js';

/** Records to write, and the caller's result. The state changes only once they are written. */
export interface Step<T> {
  readonly records: readonly FileRecord[];
  readonly result: T;
  /** Undoes changes that the decision already made in memory, if the records are not written. */
  undo?(): void;
  /**
   * If set, the step resolves only once its records are on the disk. If they do not get there,
   * these records revert the step.
   */
  readonly inverse?: readonly FileRecord[] | undefined;
}

/** Returns a step that writes nothing. */
export function reads<T>(result: T): Step<T> {
  return { records: [], result };
}

/** Returns a step without a result. */
export function writes(records: readonly FileRecord[]): Step<undefined> {
  return { records, result: undefined };
}

export type Decide<T> = (state: State) => Step<T>;

/** Returns records to write; empty if the state needs none. */
export type RecordsIn = (state: State) => readonly FileRecord[];

/** A log that processes share: all of them read all records in the same order. */
export interface JournalLog {
  /** The id of this process. */
  readonly me: string;
  /** Decides on the current state, and resolves once the records of the step are written. */
  run<T>(decide: Decide<T>): Promise<T>;
  /** Writes records as soon as possible, before any other of this process. */
  later(recordsIn: RecordsIn): void;
  /** Returns the ids of the processes that live, and frees the claims and locks of ended ones. */
  living(ids: Iterable<string>): Promise<ReadonlySet<string>>;
  /** Closed attempts that the log no longer has. */
  readonly history: Past;
  /** Whether changes add events to the outbox, whatever journal of this process writes them. */
  keepsEvents: boolean;
  readonly listeners: OutboxListeners;
  /** Resolves once all running steps are done and the log is closed. */
  close(): Promise<void>;
}

/** The store of closed attempts that a journal no longer has. */
export interface Past {
  /**
   * Yields the attempts of the first `length` bytes, in the order they were made; without an owner,
   * the attempts of all owners.
   *
   * @param since - Attempts that were written before this time may be left out.
   */
  attempts(
    length: number,
    owner: Owner | undefined,
    since: number,
  ): AsyncIterable<Made> | Iterable<Made>;
}
