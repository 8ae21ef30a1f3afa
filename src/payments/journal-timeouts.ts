import { isExactChangeError, TransportError, type ErrorCode } from '../errors.js';
import type { EventDetails } from '../events.js';
import { bounded } from '../internal/abort.js';
import type { Ledger } from '../journal/balance-ledger.js';
import type { Coordination, Journal, Owner } from '../journal/types.js';
import type { KeptBy } from './context.js';
import { createLateTakes, type LateTakes } from './late-takes.js';

/** Hears of the steps of a journal that have ended, and has the clock for them. */
export interface StepTimer {
  now(): number;
  onStep(step: EventDetails['journal.called']): void;
}

/**
 * What is being taken at each journal, for all clients of this process that are on it: one may end
 * what another is still taking.
 */
const takesOf = /* @__PURE__ */ new WeakMap<Journal, LateTakes>();

type TimedCall = <T>(step: string, work: () => Promise<T>) => Promise<T>;

/** A journal of the caller's, and the coordination that it brings for a wallet, if it does. */
export function timedJournal(
  journal: Journal,
  owner: Owner,
  timeoutMs: number,
  timer: StepTimer,
): KeptBy {
  const coordination = journal.coordination?.(owner);
  const takes = takesOf.get(journal) ?? createLateTakes();
  takesOf.set(journal, takes);
  return {
    journal: journalWithTimeouts(journal, timeoutMs, timer, takes, coordination?.ledger),
    coordination:
      coordination === undefined
        ? undefined
        : coordinationWithTimeouts(coordination, timeoutMs, takes),
  };
}

/**
 * A journal that fails, or does not answer in time, rejects with `journal_unavailable`: money moves
 * only if it is on record before.
 */
export function journalWithTimeouts(
  journal: Journal,
  timeoutMs: number,
  timer?: StepTimer,
  takes = createLateTakes(),
  ledger?: Pick<Ledger, 'release'>,
): Journal {
  const call = callWithin(timeoutMs, timer);
  // One listing has as many steps as attempts.
  const untold = callWithin(timeoutMs);
  const owners = journal.owners?.bind(journal);
  return {
    reserve: (attempt, caps, along, hold) =>
      call('reserve', () => takes.during(attempt.id, journal.reserve(attempt, caps, along, hold))),
    put(attempt, along) {
      for (const account of along?.free ?? [])
        takes.after(attempt.id, async () => ledger?.release(account, attempt.id));
      return call('put', () => journal.put(attempt, along));
    },
    raise: (attempt, caps) => call('raise', () => journal.raise(attempt, caps)),
    release: (id, along) =>
      call('release', () => takes.ending(id, () => journal.release(id, along))),
    similar: (owner, fingerprint, key) =>
      call('similar', () => journal.similar(owner, fingerprint, key)),
    attempts: (owner, filter) => eachWithin(untold, () => journal.attempts(owner, filter)),
    ...(owners === undefined ? {} : { owners: () => eachWithin(untold, owners) }),
    used: (owner, caps, now) => call('used', () => journal.used(owner, caps, now)),
  };
}

/** The same for what several processes share. Waiting for a lock is the caller's to bound. */
function coordinationWithTimeouts(
  { ledger, locks, claims, next }: Coordination,
  timeoutMs: number,
  takes: LateTakes,
): Coordination {
  const call = callWithin(timeoutMs);
  const inOrder = createClaimOrder();
  const drop = async (ids: readonly string[]) => {
    // What is put on record is claimed with it.
    for (const id of ids) takes.after(id, () => claims.drop([id]));
    await claims.drop(ids);
  };
  return {
    ledger: {
      available: (account, fresh) => call('balance', () => ledger.available(account, fresh)),
      held: (account) => call('balance', () => ledger.held(account)),
      see: (account, known, moved) => call('balance', () => ledger.see(account, known, moved)),
      forget: (account) => call('balance', () => ledger.forget(account)),
      take: (account, id, amount, fresh) =>
        call('hold', () => takes.during(id, ledger.take(account, id, amount, fresh))),
      hold: (account, id, amount) =>
        call('hold', () => takes.during(id, ledger.hold(account, id, amount))),
      spend: (account, id, slot) => call('hold', () => ledger.spend(account, id, slot)),
      release: (account, id) =>
        call('hold', () => takes.ending(id, () => ledger.release(account, id))),
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
 * Has what is asked for a claim come after all that was asked for it before, however long that takes
 * and whether or not its caller still waits: a claim that arrives late must not outlive the drop
 * that was asked for after it, nor be ended by one that was asked for before.
 */
function createClaimOrder() {
  const underWay = new Map<Promise<unknown>, readonly string[]>();
  return (ids: readonly string[], work: () => Promise<void>): Promise<void> => {
    const before = [...underWay].filter(([, others]) => others.some((id) => ids.includes(id)));
    const done =
      before.length === 0 ? work() : Promise.all(before.map(([ended]) => ended)).then(work);
    const ended: Promise<unknown> = done
      .catch(() => undefined)
      .finally(() => underWay.delete(ended));
    underWay.set(ended, ids);
    return done;
  };
}

function callWithin(timeoutMs: number, timer?: StepTimer): TimedCall {
  const late = () =>
    new Error(`The journal did not answer within timeouts.journal, ${timeoutMs} ms.`);
  return async (step, work) => {
    const startedAt = timer?.now() ?? 0;
    const ended = (failed?: ErrorCode) =>
      timer?.onStep({
        step,
        ms: Math.max(0, timer.now() - startedAt),
        ...(failed === undefined ? {} : { failed }),
      });
    try {
      // In an async function: a journal may throw at once.
      const value = await bounded(timeoutMs, late, [], async () => work());
      ended();
      return value;
    } catch (cause) {
      ended(isExactChangeError(cause) ? cause.code : 'journal_unavailable');
      // It may well say itself what is wrong.
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
    // A reader that stops early leaves a cursor open.
    await call('attempts', async () => iterator.return?.()).catch(() => undefined);
  }
}
