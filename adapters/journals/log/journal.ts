import type { ExactChangeError } from '../../../src/errors.js';
import { copyOf } from '../../../src/journal/attempt-json.js';
import type { Made } from '../../../src/journal/store-types.js';
import type { Taken } from '../../../src/journal/account-balance.js';
import { openStates } from '../../../src/journal/states.js';
import type {
  Along,
  Attempt,
  AttemptFilter,
  CapBlock,
  Coordination,
  Journal,
  KeyTaken,
  Owner,
} from '../../../src/journal/types.js';
import { createOutboxListeners, outboxOver } from '../../../src/outbox/port.js';
import type { Cap } from '../../../src/policy/caps.js';
import { coordinationOver, type Run } from './coordination.js';
import { reads, writes, type JournalLog, type Step } from './port.js';
import type { FileRecord } from './records.js';
import type { State } from './state.js';
import { alongRecords, holdStep, inverseOf, isSigned, eventRecords } from './steps.js';

export interface LogJournal extends Journal {
  /** As in `Journal`; without an owner, yields the attempts of all owners. */
  attempts(owner: Owner | undefined, filter?: AttemptFilter): AsyncIterable<Attempt>;
  coordination(owner: Owner): Coordination;
  /**
   * Releases the claims and locks of this journal, even if work under them still runs. Closes the
   * file or database once all running writes are done.
   */
  close(): Promise<void>;
}

/** A log that journals of this process may share. */
export interface SharedLog {
  readonly log: JournalLog;
  /** Gives up this share; the last user closes the log. */
  leave(): Promise<void>;
}

/** Opens a file or database that holds a journal, and makes its errors. */
export interface LogOpener {
  /** @param closing - Fires when the journal closes: its user waits no longer for the log. */
  open(closing: AbortSignal): Promise<SharedLog>;
  unavailable(cause: unknown): ExactChangeError;
  closedError(): ExactChangeError;
}

/** Returns a journal over the log at a place. The first call opens the log. */
export function journalOver(
  { open: openShare, unavailable, closedError }: LogOpener,
  keepsEvents: boolean,
): LogJournal {
  const listeners = createOutboxListeners();
  let share: Promise<SharedLog> | undefined;
  const closing = new AbortController();
  let closed: Promise<void> | undefined;
  const open = async (): Promise<SharedLog> => {
    try {
      const opened = await openShare(closing.signal);
      if (!keepsEvents) return opened;
      opened.log.keepsEvents = true;
      const { added, dropped } = opened.log.listeners;
      const stops = [added.add(listeners.added.call), dropped.add(listeners.dropped.call)];
      return {
        ...opened,
        leave: () => opened.leave().finally(() => stops.forEach((stop) => stop())),
      };
    } catch (error) {
      share = undefined;
      throw unavailable(error);
    }
  };
  const underWay = new Set<Promise<unknown>>();
  const logOf = async (): Promise<JournalLog> => (await (share ??= open())).log;
  const runLast: Run = async (decide) => {
    const log = await logOf();
    return log.run((state) => decide(state, log));
  };
  const run: Run = (decide) => {
    if (closing.signal.aborted) return Promise.reject(closedError());
    const done = runLast(decide).finally(() => underWay.delete(done));
    underWay.add(done);
    return done;
  };
  const coordination = coordinationOver(run, {
    closedError,
    async living(ids) {
      if (closing.signal.aborted) throw closedError();
      return (await logOf()).living(ids);
    },
    later: (recordsIn) =>
      void logOf().then(
        (log) => log.later((state) => recordsIn(state, log)),
        () => undefined,
      ),
  });
  /** Runs a step that takes or releases claims. */
  const runAlong = async <T>(
    along: Along,
    decide: (state: State, log: JournalLog) => Step<T>,
  ): Promise<T> => {
    const result = await run(decide);
    coordination.claims(along);
    return result;
  };

  const replace = async (
    original: Attempt,
    along: Along,
    caps?: readonly Cap[],
  ): Promise<CapBlock | undefined> => {
    const attempt = copyOf(original);
    return runAlong(along, (state, { me, keepsEvents: keeps }) => {
      const before = state.attempts.replacing(attempt, caps);
      if (before !== undefined && 'cap' in before) return reads(before);
      const extras = alongRecords(state, me, attempt, along);
      if (before === undefined) return writes(extras);
      const events = eventRecords(state, keeps, before, attempt);
      return {
        ...writes([{ put: attempt }, ...events, ...extras]),
        inverse: isSigned(before, attempt) ? inverseOf({ put: before }, events) : undefined,
      };
    });
  };

  return {
    async reserve(original, caps, along = {}, hold) {
      const attempt = copyOf(original);
      return runAlong(along, (state, { me }): Step<CapBlock | KeyTaken | Taken | undefined> => {
        const refusal = state.attempts.refusal(attempt, caps);
        if (refusal !== undefined) return reads(refusal);
        const held = hold && holdStep(state, attempt, hold);
        const records: FileRecord[] = [
          { put: attempt },
          ...alongRecords(state, me, attempt, along),
          ...(held?.records ?? []),
        ];
        const inverse = isSigned(undefined, attempt) ? [{ release: attempt.id }] : undefined;
        return { records, result: held?.result, inverse };
      });
    },
    put: async (attempt, along = {}) => void (await replace(attempt, along)),
    raise: (attempt, caps) => replace(attempt, {}, caps),
    release: (id, along = {}) =>
      runAlong(along, (state, { me, keepsEvents: keeps }) => {
        const before = state.attempts.releasable(id);
        // Another process may have signed the attempt by now: then its tokens stay held.
        const goesOn = before === undefined && state.attempts.isOpen(id);
        const { free: _free, ...others } = along;
        const extras = alongRecords(state, me, before ?? { id }, goesOn ? others : along);
        if (before === undefined) return writes(extras);
        const events = eventRecords(state, keeps, before, undefined);
        return writes([{ release: id }, ...events, ...extras]);
      }),
    similar: (owner, fingerprint, idempotencyKey) =>
      run(({ attempts }) => reads(attempts.similar(owner, fingerprint, idempotencyKey))),
    async *attempts(owner, filter = {}) {
      const { recent, length, history } = await run((state, log) =>
        reads({
          recent: madeIn(state, owner, filter),
          length: state.history,
          history: log.history,
        }),
      );
      const { state, since = -Infinity } = filter;
      // The history has closed attempts only.
      const isOpen = state !== undefined && openStates.includes(state);
      const old = isOpen ? [] : history.attempts(length, owner, since);
      try {
        for await (const { attempt } of inOrder(old, recent))
          if ((state ?? attempt.state) === attempt.state && attempt.at >= since) yield attempt;
      } catch (error) {
        throw unavailable(error);
      }
    },
    async *owners() {
      yield* await run(({ attempts }) => reads(attempts.owners()));
    },
    used: (owner, caps, now) => run(({ attempts }) => reads(attempts.used(owner, caps, now))),
    coordination: (owner) => coordination.of(owner),
    ...(keepsEvents && {
      outbox: outboxOver(
        (decide) =>
          run(({ outbox }) => {
            const step = decide(outbox);
            // The caller sees the secret of an endpoint only once, so the endpoint must be synced.
            const isLasting = step.records.some((record) => 'endpoint' in record);
            return { ...step, inverse: isLasting ? [] : undefined };
          }),
        listeners,
      ),
    }),
    close() {
      closed ??= leave();
      return closed;
    },
  };

  async function leave(): Promise<void> {
    closing.abort(closedError());
    // A log that could not be opened needs no closing.
    const opened = await share?.catch(() => undefined);
    // What a step takes from now on would stay if another journal uses the log.
    await Promise.allSettled(underWay);
    await (opened === undefined ? undefined : coordination.close(runLast));
    await opened?.leave();
  }
}

function madeIn({ attempts }: State, owner: Owner | undefined, filter: AttemptFilter): Made[] {
  const found = [...attempts.attempts(owner, filter)];
  return found.map((attempt) => ({ made: attempts.madeBefore(attempt.id), attempt }));
}

/** Merges two lists, each in the order in which its attempts were made. */
async function* inOrder(
  old: AsyncIterable<Made> | Iterable<Made>,
  recent: readonly Made[],
): AsyncIterable<Made> {
  let next = 0;
  for await (const made of old) {
    for (; (recent[next]?.made ?? Infinity) < made.made; next += 1) yield recent[next] ?? made;
    yield made;
  }
  yield* recent.slice(next);
}
