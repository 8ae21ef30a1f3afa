import { dirname } from 'node:path';
import { systemRuntime } from '../../../src/internal/runtime.js';
import { shareNext } from '../../../src/internal/share-next.js';
import { untilTold } from '../../../src/journal/released-claims.js';
import { announce, createOutboxListeners } from '../../../src/outbox/port.js';
import { writes, type Decide, type JournalLog, type RecordsIn, type Step } from '../log/port.js';
import type { FileRecord } from '../log/records.js';
import { REWRITING } from '../log/state.js';
import { unlockRecords } from '../log/steps.js';
import type { Disk, OpenFile } from './disk.js';
import { closedError, lockedBy, reasonFor, unavailable } from './failures.js';
import { historyAt } from './history.js';
import { openFile } from './open-file.js';
import type { Processes, Verdict } from './processes.js';
import { writeAnew } from './rewrite.js';
import { createSyncs } from './syncs.js';
import { tailOf } from './tail.js';
import { UnsyncedSteps } from './unsynced.js';

export interface LogParts {
  readonly disk: Disk;
  readonly processes: Processes;
  /** Bytes from which on a file may be worth a rewrite. */
  readonly compactFrom: number;
  /** How many of the last closed attempts stay in a rewritten file. */
  readonly recent: number;
}

const FIRST_WAIT_MS = 1;
const LONGEST_WAIT_MS = 50;

/** Wraps the error that a decision threw: the caller gets that error as it is. */
class Refusal extends Error {
  constructor(readonly reason: unknown) {
    super('refused');
  }
}

/**
 * Opens the journal at a path, or makes it.
 *
 * Rejects with `journal_locked` if an invisible process may use the file, and with
 * `invalid_option` for the file of a newer version. Also rejects with `journal_damaged`, or with a
 * disk error.
 */
export async function openLog(path: string, parts: LogParts): Promise<JournalLog> {
  const { disk, processes, compactFrom, recent } = parts;
  const directory = dirname(path);
  const listeners = createOutboxListeners();
  const history = historyAt(`${path}.history`, disk);
  const life = await processes.live(directory);
  const me = life.process.id;
  const unsynced = new UnsyncedSteps();
  const archive = { recall: history.recall, recent };
  const tail = await openFile(path, parts, history, life.process)
    .then((file) =>
      tailOf(path, file, life.process, disk, archive, (records) => unsynced.note(records)),
    )
    .catch(async (error: unknown) => {
      history.close();
      await life.end();
      throw error;
    });
  const syncs = createSyncs(tail, () => disk.syncDirectory(directory), rewrite);
  const underWay = new Set<Promise<unknown>>();
  /** Checks of other processes, by process id. A check that has yet to begin serves all callers. */
  const judges = new Map<string, () => Promise<Verdict>>();
  /** Give the records to write before any other. */
  let leftover: readonly RecordsIn[] = [];
  let checkAt = Math.max(compactFrom, 2 * tail.whole);
  let isClosed = false;
  let changing: Promise<void> | undefined;
  let [rewriting, replacing]: (Promise<void> | undefined)[] = [];

  /** Takes a step synchronously. Returns undefined if another file is replacing this file. */
  function take<T>(decide: Decide<T>): Step<T> | undefined {
    for (;;) {
      tail.read();
      // If another process has just replaced the file, it sealed this file before: read the seal.
      const isReplaced = tail.isReplaced();
      if (isReplaced) tail.read();
      if (tail.state.sealedBy !== undefined) return undefined;
      if (isReplaced) throw new Error('Another file has been put in its place.');
      if (leftover.length > 0) {
        const records = leftover.flatMap((recordsIn) => recordsIn(tail.state));
        if (records.length === 0 || tail.append(records)) leftover = [];
        continue;
      }
      const step = decided(decide);
      try {
        if (step.records.length === 0 || tail.append(step.records)) return step;
      } catch (error) {
        step.undo?.();
        // The line may count, and its caller does not have these locks.
        unlockLater(step.records.flatMap((record) => ('lock' in record ? [record.lock] : [])));
        throw error;
      }
      step.undo?.();
    }
  }
  function decided<T>(decide: Decide<T>): Step<T> {
    try {
      return decide(tail.state);
    } catch (error) {
      throw new Refusal(error);
    }
  }

  async function perform<T>(decide: Decide<T>): Promise<T> {
    try {
      for (;;) {
        await changing;
        const step = take(decide);
        if (step !== undefined) {
          if (step.inverse !== undefined) await syncOrRevert(step.inverse);
          if (step.records.length > 0) afterWrite(step.records);
          return step.result;
        }
        changing ??= change().finally(() => (changing = undefined));
      }
    } catch (error) {
      throw error instanceof Refusal ? reasonFor(path, error.reason) : unavailable(path, error);
    }
  }
  function run<T>(decide: Decide<T>): Promise<T> {
    if (isClosed) return Promise.reject(closedError());
    const done = perform(decide).finally(() => underWay.delete(done));
    underWay.add(done);
    return done;
  }
  /** Writes records in the background, and ignores a failure. */
  function note(records: readonly FileRecord[]): void {
    perform(() => writes(records)).catch(() => undefined);
  }

  async function syncOrRevert(inverse: readonly FileRecord[]): Promise<void> {
    const step = unsynced.begin(inverse);
    try {
      await syncs.sync();
      unsynced.end(step);
    } catch (error) {
      // The caller is told that the step failed, so its records must not stay.
      later(() => (step.isSuperseded ? [] : inverse));
      throw error;
    }
  }
  function later(recordsIn: RecordsIn): void {
    leftover = [...leftover, recordsIn];
    // Other processes may wait for these records, and this process may take no further step.
    const write = () => run(() => writes([]));
    write()
      .catch(() => untilTold((ms) => systemRuntime.idle(ms), write))
      .catch(() => undefined);
  }
  function unlockLater(names: readonly string[]): void {
    if (names.length > 0) later((state) => unlockRecords(state, me, names));
  }
  function afterWrite(records: readonly FileRecord[]): void {
    const trimmed = records.some((record) => 'job' in record) ? tail.state.outbox.trimming() : [];
    if (trimmed.length > 0) note(trimmed);
    announce(listeners, records, trimmed);
    if (tail.size < checkAt || isClosed) return;
    // If the rewrite fails, or another process does it, try again once the file has grown more.
    checkAt = tail.size + compactFrom / 4;
    rewrite().catch(() => undefined);
  }

  /** Waits for the file that replaces this file and goes over to it, unless the rewrite failed. */
  async function change(): Promise<void> {
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      const { sealedBy } = tail.state;
      if (sealedBy === undefined) return;
      if (sealedBy === me && replacing !== undefined) return replacing.catch(() => undefined);
      if (tail.isReplaced()) return goOver(disk.open(path));
      // The rewrite of this process failed.
      if (sealedBy === me) tail.append([{ sealed: false }]);
      // The writer has ended, so no file will come, unless it came a moment ago.
      else if ((await verdictOn(sealedBy)) === 'ended' && !tail.isReplaced()) freeEnded(sealedBy);
      else await systemRuntime.sleep(wait);
      tail.read();
    }
  }
  async function goOver(file: OpenFile): Promise<void> {
    const previous = await tail.goOver(file);
    checkAt = Math.max(compactFrom, 2 * tail.whole);
    await syncs.over();
    previous.close();
  }

  function verdictOn(id: string): Promise<Verdict> {
    if (id === me) return Promise.resolve('lives');
    const seat = tail.state.seats.get(id);
    if (seat === undefined) return Promise.resolve('ended');
    const judge = () => processes.judge(seat, directory).finally(() => judges.delete(id));
    const shared = judges.get(id) ?? shareNext(judge);
    judges.set(id, shared);
    return shared();
  }
  /** Frees the claims, locks and jobs of a process that has ended. */
  function freeEnded(id: string): void {
    const seat = tail.state.seats.get(id);
    if (seat === undefined || !tail.append([{ gone: id }])) return;
    processes.clear(seat, directory).catch(() => undefined);
  }
  /** Calls `freeEnded`, and ignores a disk error: the process has ended all the same. */
  function tryToFreeEnded(id: string): void {
    try {
      if (!tail.isReplaced()) freeEnded(id);
    } catch {
      // A later look finds the ended process again.
    }
  }
  async function living(ids: Iterable<string>): Promise<ReadonlySet<string>> {
    const alive = new Set<string>();
    for (const id of new Set(ids)) {
      if ((await verdictOn(id)) !== 'ended') alive.add(id);
      // If the file is sealed, the next step deals with the seal first.
      else if (tail.state.sealedBy === undefined) tryToFreeEnded(id);
    }
    return alive;
  }

  /** Rewrites the file, unless another process does. */
  function rewrite(): Promise<void> {
    return (rewriting ??= rewriteOnce().finally(() => (rewriting = undefined)));
  }
  async function rewriteOnce(): Promise<void> {
    const lock = { lock: REWRITING };
    const holder = await perform(({ locks }) => {
      const by = locks.get(REWRITING);
      return { records: by === undefined ? [lock] : [], result: by ?? me };
    });
    if (holder !== me) {
      if ((await verdictOn(holder)) !== 'ended') return;
      // Not by `living`: it ignores a disk error, and this would try again without a pause.
      if (tail.state.sealedBy === undefined && !tail.isReplaced()) freeEnded(holder);
      return rewriteOnce();
    }
    try {
      replacing = writeAnew(path, tail, me, history, disk).then(goOver);
      await replacing.finally(() => (replacing = undefined));
      await syncs.names();
    } catch (error) {
      unlockLater([REWRITING]);
      throw error;
    }
  }

  const log: JournalLog = {
    me,
    run,
    later,
    living,
    history,
    keepsEvents: false,
    listeners,
    async close() {
      isClosed = true;
      await Promise.allSettled([...underWay]);
      await rewriting?.catch(() => undefined);
      try {
        if (tail.state.seats.has(me)) await perform(() => writes([{ gone: me }]));
      } finally {
        await syncs.over();
        tail.file.close();
        history.close();
        await life.end();
      }
    },
  };
  try {
    for (const seat of tail.state.seats.values())
      if ((await processes.judge(seat, directory)) === 'unknown') throw lockedBy(path, seat);
    await living(tail.state.seats.keys());
    // The seat names the sign of this process, so that others can remove the sign after a crash.
    await perform(({ seats }) => writes(seats.has(me) ? [] : [{ seat: life.process }]));
    return log;
  } catch (error) {
    await log.close();
    throw error;
  }
}
