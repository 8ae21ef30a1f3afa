import { counts, type Cap } from '../policy/caps.js';
import type { Cost } from '../policy/cost.js';
import { copyOf } from './attempt-json.js';
import {
  entryOf,
  isClosed,
  isOf,
  keyName,
  ownerName,
  placeName,
  requestName,
  type CapScope,
  type Entry,
} from './attempt-names.js';
import { countsLonger, dropsSwap, firstFull, mayRelease } from './counting.js';
import { createSpendWindows, type SpendWindows } from './spend-window.js';
import { attemptStates, mayFollow, openStates } from './states.js';
import type { Attempt, AttemptFilter, CapBlock, KeyTaken, Owner } from './types.js';

// Closed attempts that no window counts are kept only while there are no more than this in all.
const KEPT = 10_000;

const DAY_MS = 24 * 60 * 60 * 1000;

/** What the forgotten attempts at a place took: caps without a window count it for ever. */
export interface Carried extends CapScope {
  readonly cost: Cost;
  /** When the latest of it left. Milliseconds since the epoch. */
  readonly until: number;
}

/** All that a store knows. */
export interface StoreContent {
  /** In the order they were made. */
  readonly attempts: readonly Attempt[];
  readonly carried: readonly Carried[];
  /** The widest window that was ever asked for. */
  readonly widestMs: number;
}

/**
 * The attempts of a journal that has them all at hand, and what they take of caps. It knows nothing
 * of promises: each call is one step.
 * What it is given it copies; what it gives belongs to it.
 */
export interface AttemptStore {
  /** As the journal's. Throws `TypeError` for what is no attempt, or has an id that is there. */
  reserve(attempt: Attempt, caps: readonly Cap[]): CapBlock | KeyTaken | undefined;
  /**
   * As the journal's, and with caps as its `raise`; also returns the attempt as kept, or undefined
   * where another stands. Throws where it was released.
   */
  put(attempt: Attempt, caps?: readonly Cap[]): { readonly kept: Attempt | undefined } | CapBlock;
  /** As the journal's; whether there was something to forget. */
  release(id: string): boolean;
  similar(owner: Owner, fingerprint: string, idempotencyKey: string | undefined): Attempt[];
  attempts(owner: Owner, filter?: AttemptFilter): Attempt[];
  /** As the journal's. */
  owners(): Owner[];
  used(owner: Owner, caps: readonly Cap[], now: number): bigint[];
  get(id: string): Attempt | undefined;
  /** Takes an attempt as it was written down, in place of the one of its id; no rule is asked. */
  restore(attempt: Attempt): void;
  /** Takes down that an attempt was released. */
  remove(id: string): void;
  content(): StoreContent;
}

interface Kept extends Entry {
  readonly ordinal: number;
}

/** One place: what its attempts take, over time. */
interface Spot {
  readonly place: CapScope;
  readonly spending: SpendWindows;
  readonly carried: Map<string, bigint>;
  carriedUntil: number;
}

export function createAttemptStore({
  attempts,
  carried,
  widestMs: widest,
}: Partial<StoreContent> = {}): AttemptStore {
  const kept = new Map<string, Kept>();
  // Ids by what a repeated call is found by: its fingerprint, or its key.
  const index = new Map<string, Set<string>>();
  const owners = new Map<string, Map<string, Spot>>();
  // Ids of attempts that nothing more will happen to, in the order in which that came about.
  const closed = new Set<string>();
  /** In flight: few, and counted longer than others. */
  const undecided = new Map<string, Entry>();
  let made = 0;
  // A call that reserves without caps must not make the caps of others forget.
  let widestMs = Math.max(DAY_MS, widest ?? 0);

  const spotsOf = (owner: string): Map<string, Spot> =>
    entry(owners, owner, () => new Map<string, Spot>());
  const spotOf = (
    owner: string,
    place: string,
    { wallet, network, host, payTo, mint }: CapScope,
  ): Spot =>
    entry(spotsOf(owner), place, () => ({
      place: { wallet, network, host, payTo, mint },
      spending: createSpendWindows(),
      carried: new Map(),
      carriedUntil: -Infinity,
    }));

  const take = (one: Entry): void => {
    const { attempt, names, owner, place, at, cost } = one;
    for (const name of names) entry(index, name, () => new Set()).add(attempt.id);
    if (cost.size > 0) spotOf(owner, place, attempt).spending.add(at, cost);
    if (isClosed(attempt)) closed.add(attempt.id);
    if (openStates.includes(attempt.state)) undecided.set(attempt.id, one);
  };
  const leave = ({ attempt, names, owner, place, at, cost }: Entry): void => {
    undecided.delete(attempt.id);
    for (const name of names) {
      const ids = index.get(name);
      ids?.delete(attempt.id);
      if (ids?.size === 0) index.delete(name);
    }
    closed.delete(attempt.id);
    if (cost.size === 0) return;
    const { spending, carried: gone } = spotOf(owner, place, attempt);
    spending.subtract(at, cost);
    if (spending.isEmpty && gone.size === 0) spotsOf(owner).delete(place);
  };
  const keep = (one: Entry): void => {
    const { id } = one.attempt;
    const before = kept.get(id);
    if (before !== undefined) leave(before);
    kept.set(id, { ...one, ordinal: before?.ordinal ?? made++ });
    take(one);
  };
  const restore = (attempt: Attempt): void => keep(entryOf(attempt));
  const remove = (id: string): void => {
    const before = kept.get(id);
    if (before === undefined) return;
    leave(before);
    kept.delete(id);
  };
  const carry = (place: CapScope, cost: Cost, at: number): void => {
    if (cost.size === 0) return;
    const spot = spotOf(ownerName(place), placeName(place), place);
    for (const [unit, value] of cost)
      spot.carried.set(unit, (spot.carried.get(unit) ?? 0n) + value);
    spot.carriedUntil = Math.max(spot.carriedUntil, at);
  };
  /** Forgets the closed attempts that no window counts, as far as there are too many in all. */
  const prune = (before: number): void => {
    for (const id of closed) {
      const one = kept.get(id);
      if (kept.size <= KEPT || one === undefined || one.at >= before) return;
      carry(one.attempt, one.cost, one.at);
      remove(id);
    }
  };

  const used = (owner: Owner, cap: Cap, now: number): bigint => {
    const since = cap.windowMs === undefined ? -Infinity : now - cap.windowMs;
    let sum = 0n;
    for (const { place, spending, carried: gone, carriedUntil } of spotsOf(
      ownerName(owner),
    ).values()) {
      if (!counts(cap, place)) continue;
      sum += spending.after(since, cap.unit);
      // Of what is forgotten, a window wider than any before counts too much rather than too
      // little.
      if (carriedUntil > since) sum += gone.get(cap.unit) ?? 0n;
    }
    for (const { attempt, cost } of undecided.values()) {
      if (isOf(attempt, owner) && counts(cap, attempt) && countsLonger(attempt, since))
        sum += cost.get(cap.unit) ?? 0n;
    }
    return sum;
  };
  const blocked = (one: Entry, caps: readonly Cap[], before?: Entry): CapBlock | undefined => {
    const { attempt } = one;
    const sums = caps.map((cap) => used(attempt, cap, attempt.at));
    return firstFull(caps, sums, one, before);
  };
  const named = (owner: Owner, name: string): Attempt[] =>
    [...(index.get(name) ?? [])]
      .flatMap((id) => kept.get(id) ?? [])
      .filter(({ attempt }) => isOf(attempt, owner))
      .sort((a, b) => a.ordinal - b.ordinal)
      .map(({ attempt }) => attempt);

  for (const one of carried ?? []) carry(one, one.cost, one.until);
  for (const one of attempts ?? []) restore(one);

  return {
    reserve(given, caps) {
      const one = entryOf(copyOf(given));
      const { attempt } = one;
      if (kept.has(attempt.id))
        throw new TypeError(`An attempt with the id ${attempt.id} is there.`);
      const { idempotencyKey, resigns, at } = attempt;
      const bearers = idempotencyKey === undefined ? [] : named(attempt, keyName(idempotencyKey));
      const taken = bearers.find(({ id, state }) => attemptStates[state].counts && id !== resigns);
      if (taken !== undefined) return { taken };
      const block = blocked(one, caps);
      if (block !== undefined) return block;
      keep(one);
      widestMs = Math.max(widestMs, ...caps.map(({ windowMs }) => windowMs ?? 0));
      prune(at - widestMs);
      return undefined;
    },
    put(given, caps = []) {
      const one = entryOf(copyOf(given));
      const { attempt } = one;
      const there = kept.get(attempt.id);
      if (there === undefined)
        throw new Error(`The attempt ${attempt.id} was released: it must not go on.`);
      const before = there.attempt;
      if (!mayFollow(before.state, attempt.state)) {
        if (attemptStates[before.state].decided) return { kept: undefined };
        throw new Error(`The attempt ${attempt.id} is ${before.state} by now: it must not go on.`);
      }
      if (dropsSwap(before, attempt))
        throw new Error(
          `The attempt ${attempt.id} has signed a swap by now: it must not end without it.`,
        );
      const block = blocked(one, caps, there);
      if (block !== undefined) return block;
      keep(one);
      return { kept: attempt };
    },
    release(id) {
      const attempt = kept.get(id)?.attempt;
      if (attempt === undefined || !mayRelease(attempt)) return false;
      remove(id);
      return true;
    },
    similar: (owner, fingerprint, idempotencyKey) =>
      idempotencyKey === undefined
        ? named(owner, requestName(fingerprint))
        : named(owner, keyName(idempotencyKey)),
    attempts(owner, { state, since } = {}) {
      const all = [...kept.values()].map(({ attempt }) => attempt);
      return all.filter(
        (one) =>
          isOf(one, owner) &&
          (state === undefined || one.state === state) &&
          (since === undefined || one.at >= since),
      );
    },
    owners() {
      const open = [...kept.values()].filter(({ attempt }) => openStates.includes(attempt.state));
      const named = open.map(
        ({ attempt: { wallet, network } }) =>
          [ownerName({ wallet, network }), { wallet, network }] as const,
      );
      return [...new Map(named).values()];
    },
    used: (owner, caps, now) => caps.map((cap) => used(owner, cap, now)),
    get: (id) => kept.get(id)?.attempt,
    restore,
    remove,
    content: () => ({
      attempts: [...kept.values()].map(({ attempt }) => attempt),
      carried: [...owners.values()].flatMap((spots) => [...spots.values()].flatMap(carriedAt)),
      widestMs,
    }),
  };
}

function carriedAt({ place, carried, carriedUntil }: Spot): Carried[] {
  return carried.size === 0 ? [] : [{ ...place, cost: new Map(carried), until: carriedUntil }];
}

function entry<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}
