import { counts, type Cap } from '../policy/caps.js';
import {
  createNameIndex,
  entryOf,
  isClosed,
  isOf,
  keyName,
  ownerName,
  requestName,
  takesTheSame,
  type Entry,
} from './attempt-names.js';
import { countsLonger, dropsSwap, firstFull, mayRelease, UNDECIDED_MS } from './counting.js';
import { createHeap } from './heap.js';
import { createLargeMap, createLargeSet } from './large.js';
import { createSpending } from './spending.js';
import { briefOf, createSpentKeys, isSpentKey, leanOf, ofBrief } from './spent-keys.js';
import { attemptStates, isOpen, mayFollow, openStates } from './states.js';
import type { Archive, AttemptStore, Made } from './store-types.js';
import type { Attempt, Owner } from './types.js';

/** Closed attempts are kept as long as there are no more than this, and the ids of as many. */
const MOST_CLOSED = 10_000;
/** The last of them as they are; of older ones no bytes that no call will present again. */
const MOST_WHOLE = 1_000;

interface Open extends Entry {
  readonly made: number;
}

/** An attempt that the chain has decided, or that came to nothing: few are looked at again. */
interface Over {
  readonly made: number;
  readonly at: number; // What is too old for a question is not parsed.
  /** Its JSON, but for the newest: an object takes three times as much. */
  readonly kept: string | Attempt;
}

/** @param archive - With one, closed attempts stay until their content was taken. */
export function createAttemptStore(archive?: Archive): AttemptStore {
  const open = new Map<string, Open>();
  const over = createLargeMap<Over>();
  /** Of those, the ones that nothing more happens to, in the order in which that came about. */
  const [whole, lean] = [new Set<string>(), createLargeSet()];
  const past = createLargeSet(archive?.past);
  const keys = createSpentKeys();
  // What is open counts whatever the time is, but for what is in no window any more: see `lapsed`.
  const [spending, pending] = [createSpending(), createSpending()];
  // Ids by what a repeated call is found by: its fingerprint, or its key.
  const index = createNameIndex();
  /** What is open, the oldest first, and what was. */
  const ages = createHeap<{ readonly id: string; readonly at: number }>((a, b) => a.at < b.at);
  let made = 0;

  const attemptOf = ({ kept }: Over): Attempt =>
    typeof kept === 'string' ? (JSON.parse(kept) as Attempt) : kept; // Written from one.
  const get = (id: string): Attempt | undefined => {
    const there = open.get(id)?.attempt;
    if (there !== undefined) return there;
    const gone = over.get(id);
    return gone === undefined ? undefined : attemptOf(gone);
  };
  const sumsOf = (attempt: Attempt) => (isOpen(attempt) ? pending : spending);
  const madeOf = (id: string): number | undefined => (open.get(id) ?? over.get(id))?.made;

  const forget = (id: string, names: readonly string[]): void => {
    for (const all of [open, over, whole, lean]) all.delete(id);
    index.remove(names, id);
  };
  const remove = (id: string): void => {
    const attempt = get(id);
    if (attempt === undefined) return;
    const { names, at, cost } = open.get(id) ?? entryOf(attempt);
    forget(id, names);
    sumsOf(attempt).subtract(attempt, at, cost);
  };
  /** Makes room: of what is closed for longest, its bytes go first, then all but its key. */
  const prune = (): void => {
    for (const id of whole) {
      if (whole.size <= (archive?.recent ?? MOST_WHOLE)) break;
      const one = over.get(id);
      whole.delete(id);
      lean.add(id);
      if (one !== undefined && archive === undefined)
        over.set(id, { ...one, kept: JSON.stringify(leanOf(attemptOf(one))) });
    }
    if (archive !== undefined) return;
    for (let id = lean.first(); id !== undefined; id = lean.first()) {
      if (whole.size + lean.size <= MOST_CLOSED) break;
      lean.delete(id);
      const attempt = get(id);
      if (attempt === undefined) continue;
      const { names, at } = entryOf(attempt);
      forget(id, names);
      past.add(id);
      if (!isSpentKey(attempt)) continue;
      const brief = briefOf(attempt);
      if (brief !== undefined) keys.add(attempt, attempt.idempotencyKey, brief, at);
    }
    for (let id = past.first(); id !== undefined; id = past.first()) {
      if (past.size <= MOST_CLOSED) break;
      past.delete(id);
    }
  };
  const keep = (attempt: Attempt): void => {
    const { id } = attempt;
    const one = entryOf(attempt);
    const before = open.get(id);
    if (before !== undefined && isOpen(attempt) && takesTheSame(before, one))
      return void open.set(id, { ...one, made: before.made });
    const number = madeOf(id) ?? made++;
    remove(id);
    index.add(one.names, id);
    sumsOf(attempt).add(attempt, one.at, one.cost);
    if (isOpen(attempt)) {
      open.set(id, { ...one, made: number });
      // Twice, both would stand, and the heap would be searched for what is gone at each look.
      if (before?.at !== one.at) ages.add({ id, at: one.at });
      return;
    }
    const isNew = archive === undefined && isClosed(attempt);
    const kept = isNew ? attempt : JSON.stringify(attempt);
    over.set(id, { made: number, at: attempt.at, kept });
    if (!isClosed(attempt)) return;
    whole.add(id);
    prune();
  };

  /** What is open and counts no more in a window that begins then: mostly nothing. */
  const lapsed = (since: number): readonly Open[] => {
    const stands = ({ id, at }: { readonly id: string; readonly at: number }) =>
      open.get(id)?.at === at;
    // At most half of it is gone, so that each costs the same.
    if (ages.size > 2 * open.size) ages.keep(stands);
    for (let one = ages.first(); one !== undefined && !stands(one); one = ages.first())
      ages.removeFirst();
    if ((ages.first()?.at ?? Infinity) > since - UNDECIDED_MS) return [];
    return [...open.values()].filter(
      ({ attempt, at }) => at <= since && !countsLonger(attempt, since),
    );
  };
  const used = (owner: Owner, cap: Cap, now: number): bigint => {
    const since = cap.windowMs === undefined ? -Infinity : now - cap.windowMs;
    const name = ownerName(owner);
    let sum = spending.since(name, cap, since) + pending.since(name, cap, -Infinity);
    for (const { attempt, cost } of lapsed(since))
      if (isOf(attempt, owner) && counts(cap, attempt)) sum -= cost.get(cap.unit) ?? 0n;
    return sum;
  };
  const blocked = (attempt: Attempt, caps: readonly Cap[], before?: Attempt) => {
    if (caps.length === 0) return undefined;
    const sums = caps.map((cap) => used(attempt, cap, attempt.at));
    return firstFull(caps, sums, attempt, before);
  };
  const named = (owner: Owner, one: string): Attempt[] =>
    index
      .find(one)
      .map((id) => [id, madeOf(id) ?? 0] as const)
      .sort(([, a], [, b]) => a - b)
      .flatMap(([id]) => get(id) ?? [])
      .filter((attempt) => isOf(attempt, owner));
  const bearing = (owner: Owner, key: string): Attempt[] => {
    const spent = keys
      .find(owner, key)
      .flatMap((one) =>
        typeof one === 'string' ? ofBrief(owner, key, one) : (archive?.recall(one) ?? []),
      );
    return [...spent, ...named(owner, keyName(key))];
  };

  return {
    refusal(attempt, caps) {
      const { id, idempotencyKey, resigns } = attempt;
      if (get(id) !== undefined) throw new TypeError(`An attempt with the id ${id} is there.`);
      const bearers = idempotencyKey === undefined ? [] : bearing(attempt, idempotencyKey);
      const taken = bearers.find((one) => attemptStates[one.state].counts && one.id !== resigns);
      return taken === undefined ? blocked(attempt, caps) : { taken };
    },
    replacing(attempt, caps = []) {
      const { id, state } = attempt;
      const before = get(id);
      if (before === undefined) {
        if (past.has(id)) return undefined;
        throw new Error(`The attempt ${id} was released: it must not go on.`);
      }
      if (!mayFollow(before.state, state)) {
        if (attemptStates[before.state].decided) return undefined;
        throw new Error(`The attempt ${id} is ${before.state} by now: it must not go on.`);
      }
      if (dropsSwap(before, attempt))
        throw new Error(`The attempt ${id} has signed a swap by now: it must not end without it.`);
      return blocked(attempt, caps, before) ?? before;
    },
    releasable(id) {
      const attempt = get(id);
      return attempt !== undefined && mayRelease(attempt) ? attempt : undefined;
    },
    keep,
    remove,
    similar: (owner, fingerprint, idempotencyKey) =>
      idempotencyKey === undefined
        ? named(owner, requestName(fingerprint))
        : bearing(owner, idempotencyKey),
    *attempts(owner, { state, since = -Infinity } = {}) {
      const isAnOpenState = state !== undefined && openStates.includes(state);
      const old = isAnOpenState ? [] : [...over].filter(([, { at }]) => at >= since);
      const ids = [...open, ...old].map(([id, one]) => [id, one.made] as const);
      for (const [id] of ids.sort(([, a], [, b]) => a - b)) {
        const one = get(id);
        if (one === undefined || !(owner === undefined || isOf(one, owner))) continue;
        if ((state ?? one.state) === one.state && one.at >= since) yield one;
      }
    },
    owners() {
      const all = [...open.values()].map(({ owner, attempt: { wallet, network } }) => {
        return [owner, { wallet, network }] as const;
      });
      return [...new Map(all).values()];
    },
    used: (owner, caps, now) => caps.map((cap) => used(owner, cap, now)),
    get,
    madeBefore: (id) => madeOf(id) ?? made,
    count: (number) => void (made = number),
    spend: keys.add,
    content() {
      const all = [...open, ...over].flatMap(([id, one]) => {
        const attempt = get(id);
        return attempt === undefined ? [] : [{ made: one.made, attempt }];
      });
      const inOrder = all.sort((a, b) => a.made - b.made);
      const isOver = ({ attempt: { id } }: Made) => archive !== undefined && lean.has(id);
      return {
        made,
        kept: inOrder.filter((one) => !isOver(one)),
        closed: inOrder.filter(isOver),
        keys: keys.content(),
      };
    },
    *past() {
      yield* [...past, ...whole, ...lean].slice(-MOST_CLOSED);
    },
    spending,
  };
}
