import { capCounts, type Cap } from '../policy/caps.js';
import {
  createNameIndex,
  entryOf,
  isClosed,
  belongsTo,
  keyName,
  ownerName,
  requestName,
  isSameEntry,
  type Entry,
} from './attempt-names.js';
import { copyOf } from './attempt-json.js';
import { countsLonger, dropsSwap, firstFull, mayRelease, UNDECIDED_MS } from './attempt-costs.js';
import { createHeap } from './heap.js';
import { createLargeMap, createLargeSet } from './large-map.js';
import { createSpending } from './spending.js';
import { briefOf, createSpentKeys, isSpentKey, leanOf, ofBrief } from './spent-keys.js';
import { attemptStates, isOpen, mayFollow, openStates } from './states.js';
import type { Archive, AttemptStore, Made } from './store-types.js';
import type { Attempt, Owner } from './types.js';

/** Number of closed attempts that are kept, and of ids of dropped attempts. */
const MOST_CLOSED = 10_000;
/** Number of closed attempts that keep all their bytes; older attempts lose unneeded bytes. */
const MOST_WHOLE = 1_000;

interface Open extends Entry {
  readonly made: number;
}

/** An attempt that the chain has decided, or that ended unpaid: it is rarely read again. */
interface Over {
  readonly made: number;
  readonly at: number; // Lets a listing skip old attempts without parsing them.
  /** JSON, or the object for the newest attempts: an object takes three times the memory. */
  readonly kept: string | Attempt;
}

/** @param archive - If given, closed attempts stay until the archive took them by `content()`. */
export function createAttemptStore(archive?: Archive, keys = createSpentKeys()): AttemptStore {
  const open = new Map<string, Open>();
  const over = createLargeMap<Over>();
  /** Ids of closed attempts in `over`, in the order in which they closed: new, then older. */
  const [whole, lean] = [new Set<string>(), createLargeSet()];
  /** Ids of closed attempts that the store dropped, or that the archive has. */
  const past = createLargeSet(archive?.past);
  // Open attempts are summed apart, because they count at any time until `lapsed` returns them.
  const [spending, pending] = [createSpending(), createSpending()];
  // Ids by the names that a repeated call looks up: its fingerprint, or its key.
  const index = createNameIndex();
  /** Times of open attempts, oldest first, and stale times of attempts that changed. */
  const ages = createHeap<{ readonly id: string; readonly at: number }>((a, b) => a.at < b.at);
  let made = 0;

  const attemptOf = ({ kept }: Over): Attempt =>
    typeof kept === 'string' ? (JSON.parse(kept) as Attempt) : kept; // The JSON of an attempt.
  const get = (id: string): Attempt | undefined => {
    const ended = over.get(id);
    return ended === undefined ? open.get(id)?.attempt : attemptOf(ended);
  };
  /** Copies an attempt for a caller, unless it was only just parsed. */
  const given = (attempt: Attempt): Attempt => {
    const { id } = attempt;
    const isKept = (open.get(id)?.attempt ?? over.get(id)?.kept) === attempt;
    return isKept ? copyOf(attempt) : attempt;
  };
  const sumsOf = (attempt: Attempt) => (isOpen(attempt) ? pending : spending);
  const madeOf = (id: string): number | undefined => (open.get(id) ?? over.get(id))?.made;

  const forget = (id: string, names: readonly string[]): void => {
    for (const attempts of [open, over, whole, lean]) attempts.delete(id);
    index.remove(names, id);
  };
  const remove = (id: string): void => {
    const attempt = get(id);
    if (attempt === undefined) return;
    const { names, at, cost } = open.get(id) ?? entryOf(attempt);
    forget(id, names);
    sumsOf(attempt).subtract(attempt, at, cost);
  };
  /** Makes room: attempts that closed first lose their bytes, and later all but their keys. */
  const prune = (): void => {
    for (const id of whole) {
      if (whole.size <= (archive?.recent ?? MOST_WHOLE)) break;
      const ended = over.get(id);
      whole.delete(id);
      lean.add(id);
      if (ended !== undefined && archive === undefined)
        over.set(id, { ...ended, kept: JSON.stringify(leanOf(attemptOf(ended))) });
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
    const entry = entryOf(attempt);
    const before = open.get(id);
    if (before !== undefined && isOpen(attempt) && isSameEntry(before, entry))
      return void open.set(id, { ...entry, made: before.made });
    const number = madeOf(id) ?? made++;
    remove(id);
    index.add(entry.names, id);
    sumsOf(attempt).add(attempt, entry.at, entry.cost);
    if (isOpen(attempt)) {
      open.set(id, { ...entry, made: number });
      // Never add a time twice: both would be current, so each look would search the whole heap.
      if (before?.at !== entry.at) ages.add({ id, at: entry.at });
      return;
    }
    const staysObject = archive === undefined && isClosed(attempt);
    const kept = staysObject ? attempt : JSON.stringify(attempt);
    over.set(id, { made: number, at: attempt.at, kept });
    if (!isClosed(attempt)) return;
    whole.add(id);
    prune();
  };

  /** Returns open attempts that no longer count in a window that begins at `since`: mostly none. */
  const lapsed = (since: number): readonly Open[] => {
    const isCurrent = ({ id, at }: { readonly id: string; readonly at: number }) =>
      open.get(id)?.at === at;
    // Clean up only if over half of the times are stale, so that the cost of each time is constant.
    if (ages.size > 2 * open.size) ages.keep(isCurrent);
    for (let age = ages.first(); age !== undefined && !isCurrent(age); age = ages.first())
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
      if (belongsTo(attempt, owner) && capCounts(cap, attempt)) sum -= cost.get(cap.unit) ?? 0n;
    return sum;
  };
  const blocked = (attempt: Attempt, caps: readonly Cap[], before?: Attempt) => {
    if (caps.length === 0) return undefined;
    const sums = caps.map((cap) => used(attempt, cap, attempt.at));
    return firstFull(caps, sums, attempt, before);
  };
  const withName = (owner: Owner, name: string): Attempt[] =>
    index
      .find(name)
      .map((id) => [id, madeOf(id) ?? 0] as const)
      .sort(([, a], [, b]) => a - b)
      .flatMap(([id]) => get(id) ?? [])
      .filter((attempt) => belongsTo(attempt, owner))
      .map(given);
  const withKey = (owner: Owner, key: string): Attempt[] => {
    const spent = keys
      .find(owner, key)
      .flatMap((purchase) =>
        typeof purchase === 'string'
          ? ofBrief(owner, key, purchase)
          : (archive?.recall(purchase) ?? []),
      );
    return [...spent, ...withName(owner, keyName(key))];
  };

  return {
    refusal(attempt, caps) {
      const { id, idempotencyKey, resigns } = attempt;
      if (get(id) !== undefined) throw new TypeError(`An attempt with the id ${id} is there.`);
      const earlier = idempotencyKey === undefined ? [] : withKey(attempt, idempotencyKey);
      const taken = earlier.find(
        (other) => attemptStates[other.state].counts && other.id !== resigns,
      );
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
        ? withName(owner, requestName(fingerprint))
        : withKey(owner, idempotencyKey),
    *attempts(owner, { state, since = -Infinity } = {}) {
      const isAnOpenState = state !== undefined && openStates.includes(state);
      const old = isAnOpenState ? [] : [...over].filter(([, { at }]) => at >= since);
      const ids = [...open, ...old].map(([id, kept]) => [id, kept.made] as const);
      for (const [id] of ids.sort(([, a], [, b]) => a - b)) {
        const attempt = get(id);
        if (attempt === undefined || !(owner === undefined || belongsTo(attempt, owner))) continue;
        if ((state ?? attempt.state) === attempt.state && attempt.at >= since) yield given(attempt);
      }
    },
    owners() {
      const byName = [...open.values()].map(({ owner, attempt: { wallet, network } }) => {
        return [owner, { wallet, network }] as const;
      });
      return [...new Map(byName).values()];
    },
    used: (owner, caps, now) => caps.map((cap) => used(owner, cap, now)),
    hasEnded: (id) => over.has(id) || past.has(id),
    isOpen: (id) => open.has(id),
    madeBefore: (id) => madeOf(id) ?? made,
    count: (number) => void (made = number),
    spend: keys.add,
    content() {
      const all = [...open, ...over].flatMap(([id, { made }]) => {
        const attempt = get(id);
        return attempt === undefined ? [] : [{ made, attempt }];
      });
      const inOrder = all.sort((a, b) => a.made - b.made);
      const isKept = ({ attempt: { id } }: Made) => archive === undefined || !lean.has(id);
      return {
        made,
        kept: inOrder.filter(isKept),
        closed: inOrder.filter((entry) => !isKept(entry)),
        keys: keys.content(),
      };
    },
    *past() {
      yield* [...past, ...whole, ...lean].slice(-MOST_CLOSED);
    },
    spending,
  };
}
