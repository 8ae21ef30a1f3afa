import { randomBytes, systemRuntime } from '../../../src/internal/runtime.js';
import { hex } from '../../../src/internal/bytes.js';
import { untilTold } from '../../../src/journal/released-claims.js';
import { createOutboxListeners } from '../../../src/outbox/port.js';
import { parseJson } from '../../../src/internal/parse.js';
import { writes, type Decide, type JournalLog, type RecordsIn, type Step } from '../log/port.js';
import { readRecords, type FileRecord } from '../log/records.js';
import { linesOf, snapshotOf } from '../log/snapshot.js';
import { createState, type State } from '../log/state.js';
import { unlockRecords } from '../log/steps.js';
import { openDatabase, type Row, type Witness } from './database.js';
import { closedError, damaged, unavailable } from './failures.js';
import { joinTabs } from './tabs.js';

export interface LogParts {
  readonly factory: IDBFactory;
  readonly locks: LockManager;
  readonly witness: Witness;
  /** Characters from which on the log may be worth a rewrite. */
  readonly compactFrom: number;
}

/** A step that waits for its turn. */
interface Waiting {
  /** Takes the step and returns its records. The caller gets no result yet. */
  take(state: State): readonly FileRecord[];
  /** Settles the caller's promise, once the records are written. */
  tell(): void;
  fail(error: unknown): void;
}

/**
 * Opens the log of a journal, or makes it. All tabs of the origin read all rows in the same order,
 * because its transactions run one after the other.
 */
export async function openLog(path: string, parts: LogParts): Promise<JournalLog> {
  const { factory, locks, witness, compactFrom } = parts;
  const newName = () => hex.encode(randomBytes(16));
  const me = newName();
  const database = await openDatabase(factory, path, newName, witness);
  const tabs = await joinTabs(locks, path, me).catch((error: unknown) => {
    database.close();
    throw error;
  });
  let state = createState();
  /** The last row that was read; the characters of all rows, and of the last rewrite's rows. */
  let [last, size, whole] = [0, 0, 0];
  let waiting: Waiting[] = [];
  /** Give the records to write before any other. */
  let leftover: readonly RecordsIn[] = [];
  let turns: Promise<void> | undefined;
  let isClosed = false;

  const reset = (length = 0): void => {
    state = createState();
    [last, size, whole] = [0, 0, length];
  };
  const read = (rows: readonly Row[]): void => {
    for (const { n, text, anew } of rows) {
      if (anew !== undefined) reset(anew);
      const line = readRecords(parseJson(text));
      if (line === undefined) throw damaged(path, n);
      state.apply(line.by, line.records);
      [last, size] = [n, size + text.length];
    }
  };

  /** Takes all waiting steps in one transaction. */
  const turn = async (): Promise<void> => {
    const [steps, before] = [waiting, leftover];
    [waiting, leftover] = [[], []];
    let records: FileRecord[] = [];
    try {
      await database.step(last, (rows) => {
        read(rows);
        records = before.flatMap((recordsIn) => recordsIn(state));
        state.apply(me, records);
        for (const step of steps) records.push(...step.take(state));
        if (records.length === 0) return { rows: [], isAnew: false };
        const row = { n: last + 1, text: JSON.stringify([me, ...records]) };
        [last, size] = [row.n, size + row.text.length];
        return { rows: [row], isAnew: false };
      });
    } catch (error) {
      // The state has records that were not written, so read the log from the beginning.
      reset();
      leftover = [...before, ...leftover];
      const reason = unavailable(path, error);
      for (const step of steps) step.fail(reason);
      // If the process of the storage ended, the row may count, and no caller has these locks.
      const locked = records.flatMap((record) => ('lock' in record ? [record.lock] : []));
      if (locked.length > 0) later((at) => unlockRecords(at, me, locked));
      return;
    }
    for (const step of steps) step.tell();
    if (size >= Math.max(compactFrom, 2 * whole)) await writeAnew();
  };
  /** Replaces all rows by a snapshot, in one transaction. A failed rewrite is tried again later. */
  const writeAnew = async (): Promise<void> => {
    try {
      await database.step(last, (rows) => {
        read(rows);
        const lines = linesOf(snapshotOf(state, systemRuntime.now()), [], 0);
        const texts = lines.map((line) => JSON.stringify(line));
        const anew = texts.reduce((sum, text) => sum + text.length, 0);
        const newRows = texts.map((text, index): Row => ({ n: last + 1 + index, text }));
        // `last` stays, so this tab reads the new rows with its next step, as the other tabs do.
        return {
          isAnew: true,
          rows: newRows.map((row, index) => (index === 0 ? { ...row, anew } : row)),
        };
      });
    } catch {
      whole = size;
    }
  };
  const takeTurns = async (): Promise<void> => {
    while (waiting.length > 0) await turn();
    turns = undefined;
  };
  const wait = (step: Waiting): void => {
    waiting.push(step);
    // Begin in a microtask, so that synchronous calls share a transaction.
    turns ??= Promise.resolve().then(takeTurns);
  };
  const perform = <T>(decide: Decide<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      let step: Step<T> | undefined;
      let refusal: { readonly reason: unknown } | undefined;
      wait({
        take(at) {
          try {
            step = decide(at);
          } catch (reason) {
            refusal = { reason };
            return [];
          }
          at.apply(me, step.records);
          return step.records;
        },
        tell() {
          if (step === undefined) reject(refusal?.reason);
          else resolve(step.result);
        },
        fail(error) {
          step?.undo?.();
          reject(error);
        },
      });
    });
  const later = (recordsIn: RecordsIn): void => {
    leftover = [...leftover, recordsIn];
    // Other tabs may wait for these records, and this tab may take no further step.
    const write = () => run(() => writes([]));
    write()
      .catch(() => untilTold((ms) => systemRuntime.idle(ms), write))
      .catch(() => undefined);
  };
  const run = <T>(decide: Decide<T>): Promise<T> =>
    isClosed ? Promise.reject(closedError()) : perform(decide);
  /** Frees the claims and locks of tabs that have ended. */
  const freeEnded = (ended: readonly string[]): void => {
    perform(({ claims, locks: locked }) => {
      const holders = new Set([
        ...locked.values(),
        ...[...claims.values()].flatMap((by) => [...by]),
      ]);
      const records = ended.flatMap((id) => (holders.has(id) ? [{ gone: id }] : []));
      return writes(records);
    }).catch(() => undefined);
  };

  const log: JournalLog = {
    me,
    run,
    later,
    async living(ids) {
      const tabIds = new Set(ids);
      const alive = await tabs.living(tabIds).catch((error: unknown) => {
        throw unavailable(path, error);
      });
      const ended = [...tabIds].filter((id) => !alive.has(id));
      if (ended.length > 0) freeEnded(ended);
      return alive;
    },
    history: { attempts: () => [] },
    keepsEvents: false,
    listeners: createOutboxListeners(),
    async close() {
      isClosed = true;
      await perform(() => writes([{ gone: me }])).catch(() => undefined);
      await turns;
      tabs.leave();
      database.close();
    },
  };
  return log;
}
