import { counts, takenOf, type Cap, type Spend } from '../policy/caps.js';
import { copyOf } from './attempt-json.js';
import { isHanded } from './handed.js';
import { attemptStates, mayFollow, openStates } from './states.js';
import { createTally, nothingTaken, plus, type Taken, type Tally } from './tally.js';
import type { Attempt, AttemptFilter, CapBlock, KeyTaken, Owner } from './types.js';

// Closed attempts that no window counts are kept only while there are no more than this in all.
const KEPT = 10_000;
const DAY_MS = 24 * 60 * 60 * 1000;

/** What caps tell payments apart by. */
export interface Place extends Owner {
  readonly host: string;
  readonly payTo: string;
  readonly mint: string;
}

/** What the forgotten attempts at a place took: caps without a window count it for ever. */
export interface Carried extends Place, Taken {
  /** When the latest of them was made. Milliseconds since the epoch. */
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
 * The attempts of a journal that has them all at hand, and what they take of caps. It knows nothing of promises: each call is one step.
 * What it is given it copies; what it gives belongs to it.
 */
export interface AttemptStore {
  /** As the journal's. Throws `TypeError` for what is no attempt, or has an id that is there. */
  reserve(attempt: Attempt, caps: readonly Cap[]): CapBlock | KeyTaken | undefined;
  /** As the journal's; returns the attempt as kept, or undefined where another stands. Throws where it was released. */
  put(attempt: Attempt): Attempt | undefined;
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

interface Kept {
  readonly attempt: Attempt;
  readonly ordinal: number;
}

/** One place: what its attempts take, over time. */
interface Spot {
  readonly place: Place;
  readonly tally: Tally;
  carried: Taken;
  carriedUntil: number;
}

export function createAttemptStore({ attempts, carried, widestMs: widest }: Partial<StoreContent> = {}): AttemptStore {
  const kept = new Map<string, Kept>();
  // Ids by what a repeated call is found by: its fingerprint, or its key.
  const index = new Map<string, Set<string>>();
  const owners = new Map<string, Map<string, Spot>>();
  // Ids of attempts that nothing more will happen to, in the order in which that came about.
  const closed = new Set<string>();
  /** In flight: few, and counted whatever their time. */
  const reserved = new Map<string, Attempt>();
  let made = 0;
  // Who reserves without caps must not make the caps of others forget.
  let widestMs = Math.max(DAY_MS, widest ?? 0);

  const spotsOf = (owner: Owner): Map<string, Spot> => entry(owners, ownerName(owner), () => new Map<string, Spot>());
  const spotOf = ({ wallet, network, host, payTo, mint }: Place): Spot =>
    entry(spotsOf({ wallet, network }), placeName({ host, payTo, mint }), () => ({
      place: { wallet, network, host, payTo, mint },
      tally: createTally(),
      carried: nothingTaken,
      carriedUntil: -Infinity,
    }));

  const take = (attempt: Attempt): void => {
    for (const name of namesOf(attempt)) entry(index, name, () => new Set()).add(attempt.id);
    if (attemptStates[attempt.state].counts) spotOf(attempt).tally.add(attempt.at, takenBy(attempt));
    if (isClosed(attempt)) closed.add(attempt.id);
    if (attempt.state === 'reserved') reserved.set(attempt.id, attempt);
  };
  const leave = (attempt: Attempt): void => {
    reserved.delete(attempt.id);
    for (const name of namesOf(attempt)) {
      const ids = index.get(name);
      ids?.delete(attempt.id);
      if (ids?.size === 0) index.delete(name);
    }
    closed.delete(attempt.id);
    if (!attemptStates[attempt.state].counts) return;
    const { tally, carried: gone } = spotOf(attempt);
    tally.subtract(attempt.at, takenBy(attempt));
    if (tally.total.payments === 0n && gone.payments === 0n) spotsOf(attempt).delete(placeName(attempt));
  };
  const restore = (attempt: Attempt): void => {
    const before = kept.get(attempt.id);
    if (before !== undefined) leave(before.attempt);
    kept.set(attempt.id, { attempt, ordinal: before?.ordinal ?? made++ });
    take(attempt);
  };
  const remove = (id: string): void => {
    const before = kept.get(id);
    if (before === undefined) return;
    leave(before.attempt);
    kept.delete(id);
  };
  const carry = (place: Place, taken: Taken, at: number): void => {
    const spot = spotOf(place);
    spot.carried = plus(spot.carried, taken);
    spot.carriedUntil = Math.max(spot.carriedUntil, at);
  };
  /** Forgets the closed attempts that no window counts, as far as there are too many in all. */
  const prune = (before: number): void => {
    for (const id of closed) {
      const attempt = kept.get(id)?.attempt;
      if (kept.size <= KEPT || attempt === undefined || attempt.at >= before) return;
      if (attemptStates[attempt.state].counts) carry(attempt, takenBy(attempt), attempt.at);
      remove(id);
    }
  };

  const used = (owner: Owner, cap: Cap, now: number): bigint => {
    const since = cap.windowMs === undefined ? -Infinity : now - cap.windowMs;
    let sum = 0n;
    for (const { place, tally, carried: gone, carriedUntil } of spotsOf(owner).values()) {
      if (!counts(cap, place)) continue;
      sum += inUnit(cap, place, cap.windowMs === undefined ? tally.total : tally.after(since));
      // Of what is forgotten, a window wider than any before counts too much rather than too little.
      if (carriedUntil > since) sum += inUnit(cap, place, gone);
    }
    // What is only reserved is yet to be spent, however long it has waited.
    for (const attempt of reserved.values()) if (attempt.at <= since && isOf(attempt, owner)) sum += takenOf(cap, attempt);
    return sum;
  };
  const named = (owner: Owner, name: string): Attempt[] =>
    [...(index.get(name) ?? [])]
      .flatMap((id) => kept.get(id) ?? [])
      .filter(({ attempt }) => isOf(attempt, owner))
      .sort((a, b) => a.ordinal - b.ordinal)
      .map(({ attempt }) => attempt);

  for (const one of carried ?? []) carry(one, one, one.until);
  for (const one of attempts ?? []) restore(one);

  return {
    reserve(given, caps) {
      const attempt = copyOf(given);
      if (kept.has(attempt.id)) throw new TypeError(`An attempt with the id ${attempt.id} is there.`);
      const { idempotencyKey, resigns, at } = attempt;
      const bearers = idempotencyKey === undefined ? [] : named(attempt, keyName(idempotencyKey));
      const taken = bearers.find(({ id, state }) => state !== 'unsettled' && state !== 'abandoned' && id !== resigns);
      if (taken !== undefined) return { taken };
      for (const cap of caps) {
        const taking = takenOf(cap, attempt);
        if (taking === 0n) continue;
        const spent = used(attempt, cap, at);
        if (spent + taking > cap.limit) return { cap, used: spent };
      }
      restore(attempt);
      widestMs = Math.max(widestMs, ...caps.map(({ windowMs }) => windowMs ?? 0));
      prune(at - widestMs);
      return undefined;
    },
    put(given) {
      const attempt = copyOf(given);
      const before = kept.get(attempt.id)?.attempt;
      if (before === undefined) throw new Error(`The attempt ${attempt.id} was released: it must not go on.`);
      if (!mayFollow(before.state, attempt.state)) {
        if (attemptStates[before.state].decided) return undefined;
        throw new Error(`The attempt ${attempt.id} is ${before.state} by now: it must not go on.`);
      }
      restore(attempt);
      return attempt;
    },
    release(id) {
      const state = kept.get(id)?.attempt.state;
      if (state === undefined || !attemptStates[state].release) return false;
      remove(id);
      return true;
    },
    similar: (owner, fingerprint, idempotencyKey) =>
      idempotencyKey === undefined
        ? named(owner, requestName(fingerprint)).filter(isFoundByRequest)
        : named(owner, keyName(idempotencyKey)),
    attempts(owner, { state, since } = {}) {
      const all = [...kept.values()].map(({ attempt }) => attempt);
      return all.filter(
        (one) => isOf(one, owner) && (state === undefined || one.state === state) && (since === undefined || one.at >= since),
      );
    },
    owners() {
      const open = [...kept.values()].filter(({ attempt }) => openStates.includes(attempt.state));
      const named = open.map(({ attempt: { wallet, network } }) => [ownerName({ wallet, network }), { wallet, network }] as const);
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

/** Delivered, or not ours to deliver, or come to nothing: what is left of it is a receipt. */
export function isClosed({ state, delivered, fingerprint }: Attempt): boolean {
  return state === 'unsettled' || (state === 'settled' && (delivered || isHanded({ fingerprint })));
}

function carriedAt({ place, carried, carriedUntil }: Spot): Carried[] {
  return carried.payments === 0n ? [] : [{ ...place, ...carried, until: carriedUntil }];
}

function takenBy({ amount, microUsd }: Spend): Taken {
  return { amount: BigInt(amount), microUsd: BigInt(microUsd ?? 0), payments: 1n };
}

/** What a cap that counts a place has of sums there: as `takenOf` for each of the payments. */
function inUnit({ unit }: Cap, { mint }: Place, taken: Taken): bigint {
  if (unit === 'USD') return taken.microUsd;
  if (unit === 'payments') return taken.payments;
  return unit === mint ? taken.amount : 0n;
}

function isOf({ wallet, network }: Owner, owner: Owner): boolean {
  return wallet === owner.wallet && network === owner.network;
}

const ownerName = ({ wallet, network }: Owner) => `${network} ${wallet}`;
const placeName = ({ host, payTo, mint }: Omit<Place, keyof Owner>) => JSON.stringify([host, payTo, mint]);
/** Whether a repeated call without a key may have to do with it: what was delivered is over, however often the same is bought. */
export function isFoundByRequest({ delivered, resigns }: Attempt): boolean {
  return !delivered || resigns !== undefined;
}

const requestName = (fingerprint: string) => `request ${fingerprint}`;
const keyName = (idempotencyKey: string) => `key ${idempotencyKey}`;

function namesOf({ fingerprint, idempotencyKey }: Attempt): string[] {
  return [requestName(fingerprint), ...(idempotencyKey === undefined ? [] : [keyName(idempotencyKey)])];
}

function entry<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}
