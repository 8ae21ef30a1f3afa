import { isExactChangeError, TransportError, type ErrorCode } from '../errors.js';
import type { LocalSettings } from '../config/options.js';
import type { EventDetails, Events } from '../events.js';
import { bounded } from '../internal/abort.js';
import type { Runtime } from '../internal/runtime.js';
import type { Ledger } from '../journal/balance-ledger.js';
import type { Wallet } from '../journal/registry.js';
import { claimsWithReleases, journalWithReleases, untilTold } from '../journal/released-claims.js';
import type { Coordination, Journal, Owner } from '../journal/types.js';
import type { TimedJournal } from './context.js';

/** The clock that times the steps of a journal, and the listener for steps that have ended. */
interface StepTimer {
  /** Milliseconds since the epoch. */
  now(): number;
  onStep(step: EventDetails['journal.called']): void;
}

interface Settings {
  readonly timeouts: Pick<LocalSettings['timeouts'], 'journal'>;
  readonly runtime: Pick<Runtime, 'now' | 'idle'>;
}

/**
 * What is being taken at each journal, for all clients of this process that are on it: one may end
 * what another is still taking.
 */
const takesOf = /* @__PURE__ */ new WeakMap<Journal, LateTakes>();

type TimedCall = <T>(step: string, work: () => Promise<T>) => Promise<T>;

/**
 * Puts a time limit on the calls of the caller's journal and of its coordination, if any. Claims
 * that the wallet released are over here, even if the journal could not be told.
 */
export function timedJournal(
  journal: Journal,
  owner: Owner,
  { timeouts, runtime }: Settings,
  {
    events,
    wallet: { releasedClaims },
  }: { readonly events: Events; readonly wallet: Pick<Wallet, 'releasedClaims'> },
): TimedJournal {
  const timeoutMs = timeouts.journal;
  const timer: StepTimer = {
    now: runtime.now,
    onStep: (step) => events.emitCall('journal.called', step),
  };
  const coordination = journal.coordination?.(owner);
  // Go on after the client has closed: the process lives on, and its claims would keep other
  // processes waiting.
  const idle = (ms: number) => runtime.idle(ms);
  const takes = takesOf.get(journal) ?? createLateTakes(idle);
  takesOf.set(journal, takes);
  const timed = journalWithTimeouts(journal, timeoutMs, timer, takes, coordination?.ledger);
  if (coordination === undefined) return { journal: timed, coordination };
  const shared = coordinationWithTimeouts(coordination, timeoutMs, takes);
  return {
    journal: journalWithReleases(timed, releasedClaims),
    coordination: { ...shared, claims: claimsWithReleases(shared.claims, releasedClaims, idle) },
  };
}

/** Lists the owners of a journal, with a time limit on each step. */
export function ownersWithin(
  journal: Pick<Journal, 'owners'>,
  timeoutMs: number,
): AsyncIterable<Owner> | undefined {
  // Steps of a listing are not reported, because it has one step for each owner.
  return journal.owners && eachWithin(callWithin(timeoutMs), journal.owners.bind(journal));
}

/**
 * Puts a time limit on each call of a journal. A call that fails or comes too late rejects with
 * `journal_unavailable`, so that no money moves before it is on record.
 */
function journalWithTimeouts(
  journal: Journal,
  timeoutMs: number,
  timer: StepTimer,
  takes: LateTakes,
  ledger: Pick<Ledger, 'release'> | undefined,
): Journal {
  const call = callWithin(timeoutMs, timer);
  // Steps of a listing are not reported, because it has one step for each attempt.
  const silentCall = callWithin(timeoutMs);
  return {
    reserve: (attempt, caps, along, hold) =>
      call('reserve', () =>
        takes.track(attempt.id, journal.reserve(attempt, caps, along, hold), true),
      ),
    put(attempt, along) {
      // A hold that is still being taken would land after this release, so release it again then.
      for (const account of along?.free ?? [])
        takes.afterPending(attempt.id, async () => ledger?.release(account, attempt.id));
      return call('put', () => journal.put(attempt, along));
    },
    raise: (attempt, caps) => call('raise', () => journal.raise(attempt, caps)),
    release: (id, along) =>
      call('release', () => takes.endAfterPending(id, () => journal.release(id, along))),
    similar: (owner, fingerprint, key) =>
      call('similar', () => journal.similar(owner, fingerprint, key)),
    attempts: (owner, filter) => eachWithin(silentCall, () => journal.attempts(owner, filter)),
    used: (owner, caps, now) => call('used', () => journal.used(owner, caps, now)),
  };
}

/** Puts the same time limit on coordination. Locks have their own: `locksWithTimeout`. */
function coordinationWithTimeouts(
  { ledger, locks, claims, next }: Coordination,
  timeoutMs: number,
  takes: LateTakes,
): Coordination {
  const call = callWithin(timeoutMs);
  const inOrder = createClaimOrder();
  const drop = async (ids: readonly string[]) => {
    // A write that is still under way claims its attempt too, so drop that claim after it.
    for (const id of ids) takes.afterPending(id, () => claims.drop([id]));
    await claims.drop(ids);
  };
  return {
    ledger: {
      available: (account, fresh) => call('balance', () => ledger.available(account, fresh)),
      held: (account) => call('balance', () => ledger.held(account)),
      see: (account, known, moved) => call('balance', () => ledger.see(account, known, moved)),
      forget: (account) => call('balance', () => ledger.forget(account)),
      take: (account, id, amount, fresh) =>
        call('hold', () => takes.track(id, ledger.take(account, id, amount, fresh))),
      hold: (account, id, amount) =>
        call('hold', () => takes.track(id, ledger.hold(account, id, amount))),
      spend: (account, id, slot) => call('hold', () => ledger.spend(account, id, slot)),
      release: (account, id) =>
        call('hold', () => takes.endAfterPending(id, () => ledger.release(account, id))),
    },
    locks,
    claims: {
      take: (ids) => call('claim', () => inOrder(ids, () => claims.take(ids))),
      drop: (ids) => call('claim', () => inOrder(ids, () => drop(ids))),
      live: (ids) => call('claim', () => claims.live(ids)),
    },
    next: (name) => call('next', () => next(name)),
  };
}

/**
 * Runs the takes and drops of each claim in the order of the requests. The order holds even if an
 * earlier caller no longer waits. A late take must not outlive the drop that was requested after
 * it. A late drop must not end a claim that was requested after it.
 */
function createClaimOrder() {
  const underWay = new Map<Promise<unknown>, readonly string[]>();
  return (ids: readonly string[], work: () => Promise<void>): Promise<void> => {
    const earlier = [...underWay].filter(([, claimed]) => claimed.some((id) => ids.includes(id)));
    const done =
      earlier.length === 0 ? work() : Promise.all(earlier.map(([ended]) => ended)).then(work);
    const ended: Promise<unknown> = done
      .catch(() => undefined)
      .finally(() => underWay.delete(ended));
    underWay.set(ended, ids);
    return done;
  };
}

function callWithin(timeoutMs: number, timer?: StepTimer): TimedCall {
  const timeoutError = () =>
    new Error(`The journal did not answer within timeouts.journal, ${timeoutMs} ms.`);
  return async (step, work) => {
    const startedAt = timer?.now() ?? 0;
    const reportStep = (failed?: ErrorCode) =>
      timer?.onStep({
        step,
        ms: Math.max(0, timer.now() - startedAt),
        ...(failed === undefined ? {} : { failed }),
      });
    try {
      // The async function turns a synchronous throw of the journal into a rejection.
      const value = await bounded(timeoutMs, timeoutError, [], async () => work());
      reportStep();
      return value;
    } catch (cause) {
      reportStep(isExactChangeError(cause) ? cause.code : 'journal_unavailable');
      // An error of the journal's own says more than a general one.
      if (isExactChangeError(cause)) throw cause;
      throw new TransportError(
        'journal_unavailable',
        'The journal could not be read or written, so nothing more was signed or sent. Repair it, then try again.',
        { details: { step }, cause },
      );
    }
  };
}

async function* eachWithin<T>(call: TimedCall, list: () => AsyncIterable<T>): AsyncIterable<T> {
  const iterator = list()[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next: IteratorResult<T, unknown> = await call('attempts', () => iterator.next());
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // Close the journal's cursor, because a reader that stops early leaves it open.
    await call('attempts', async () => iterator.return?.()).catch(() => undefined);
  }
}

/**
 * Calls under way that reserve or hold for an attempt. A call may do its work after its time limit,
 * when its caller has rolled the attempt back already. Nothing else would ever end such a late
 * reservation or hold.
 */
interface LateTakes {
  /** Notes that `work` reserves or holds for an attempt until it settles. Returns `work`. */
  track<T>(id: string, work: Promise<T>, isReservation?: boolean): Promise<T>;
  /**
   * Runs `end` after the calls under way for an attempt, if there are any. If it fails, it runs
   * again until it is done, unless the attempt is older than these calls: by then, another call may
   * have taken up an older attempt.
   */
  afterPending(id: string, end: () => Promise<unknown>): void;
  /** Runs `end` now, and once more after the calls under way for an attempt, if there are any. */
  endAfterPending<T>(id: string, end: () => Promise<T>): Promise<T>;
}

/** @param idle - Waits without keeping the process alive. */
function createLateTakes(idle: (ms: number) => Promise<void>): LateTakes {
  /** Calls under way, by attempt id. None of these promises rejects. */
  const taking = new Map<string, Set<Promise<void>>>();
  const reserving = new Set<string>();
  const afterPending: LateTakes['afterPending'] = (id, end) => {
    const calls = taking.get(id);
    if (calls === undefined) return;
    const isNew = reserving.has(id);
    Promise.all(calls)
      .then(end)
      .catch(isNew ? () => untilTold(idle, end) : undefined)
      .catch(() => undefined);
  };
  return {
    afterPending,
    track(id, work, isReservation = false) {
      if (isReservation) reserving.add(id);
      const calls = taking.get(id) ?? new Set();
      taking.set(id, calls);
      const forget = () => {
        calls.delete(settled);
        if (isReservation) reserving.delete(id);
        if (calls.size === 0) taking.delete(id);
      };
      const settled: Promise<void> = work.then(forget, forget);
      calls.add(settled);
      return work;
    },
    endAfterPending(id, end) {
      afterPending(id, end);
      return end();
    },
  };
}
