import type { Cost } from '../policy/cost.js';
import { costIn, countedAt } from './counting.js';
import { createLargeMap } from './large.js';
import type { Attempt, Owner } from './types.js';

/** What caps tell payments apart by. */
export interface CapScope extends Owner {
  readonly host: string;
  readonly payTo: string;
  readonly mint: string;
}

/**
 * What the fingerprints begin with of attempts that another program signed, and handed over: a
 * service sees their bytes, and no request.
 */
export const FROM_SERVICE = 'auto-pay ';

/**
 * Whether an attempt is known by the bytes that were handed over. Its answer goes from the seller
 * to the program that signed it: it is not asked for here.
 */
export function isFromService({ fingerprint }: Pick<Attempt, 'fingerprint'>): boolean {
  return fingerprint.startsWith(FROM_SERVICE);
}

/** Nothing more will happen to it: what is left of it is a receipt, or what its swaps cost. */
export function isClosed({ state, delivered, fingerprint }: Attempt): boolean {
  return (
    state === 'unsettled' ||
    state === 'unpaid' ||
    (state === 'settled' && (delivered || isFromService({ fingerprint })))
  );
}

export function isOf({ wallet, network }: Owner, owner: Owner): boolean {
  return wallet === owner.wallet && network === owner.network;
}

export const ownerName = ({ wallet, network }: Owner): string => `${network} ${wallet}`;

// With their lengths, as any text may be in them: made for each write, so not as JSON.
export const placeName = ({ host, payTo, mint }: Omit<CapScope, keyof Owner>): string =>
  `${host.length} ${payTo.length} ${host}${payTo}${mint}`;

/**
 * Whether a repeated call without a key may have to do with it: what was delivered is over, however
 * often the same is bought.
 */
export function isFoundByRequest({ delivered, resigns }: Attempt): boolean {
  return !delivered || resigns !== undefined;
}

export const requestName = (fingerprint: string): string => `request ${fingerprint}`;

export const keyName = (idempotencyKey: string): string => `key ${idempotencyKey}`;

/** What a repeated call finds an attempt by. */
export function namesOf(attempt: Attempt): string[] {
  const { fingerprint, idempotencyKey } = attempt;
  return [
    ...(isFoundByRequest(attempt) ? [requestName(fingerprint)] : []),
    ...(idempotencyKey === undefined ? [] : [keyName(idempotencyKey)]),
  ];
}

/** An attempt, with what the store needs of it at each step. */
export interface Entry {
  readonly attempt: Attempt;
  /** What it takes of caps as it stands, by unit. */
  readonly cost: Cost;
  readonly names: readonly string[];
  readonly owner: string;
  readonly place: string;
  /** When it counts as spent. Milliseconds since the epoch. */
  readonly at: number;
}

export function entryOf(attempt: Attempt): Entry {
  return {
    attempt,
    names: namesOf(attempt),
    owner: ownerName(attempt),
    place: placeName(attempt),
    at: countedAt(attempt),
    cost: costIn(attempt),
  };
}

/** Whether one attempt in the place of another changes no sum, and is found by the same. */
export function takesTheSame(before: Entry, after: Entry): boolean {
  return (
    before.at === after.at &&
    before.owner === after.owner &&
    before.place === after.place &&
    before.names.length === after.names.length &&
    before.names.every((name, at) => after.names[at] === name) &&
    before.cost.size === after.cost.size &&
    [...after.cost].every(([unit, value]) => before.cost.get(unit) === value)
  );
}

/** Ids by names: mostly one by each, of which there are many. */
interface NameIndex {
  add(names: readonly string[], id: string): void;
  remove(names: readonly string[], id: string): void;
  find(name: string): readonly string[];
}

export function createNameIndex(): NameIndex {
  // A set for each takes five times as much.
  const index = createLargeMap<string | Set<string>>();
  return {
    add(names, id) {
      for (const name of names) {
        const ids = index.get(name);
        if (typeof ids === 'object') ids.add(id);
        else index.set(name, ids === undefined || ids === id ? id : new Set([ids, id]));
      }
    },
    remove(names, id) {
      for (const name of names) {
        const ids = index.get(name);
        if (typeof ids === 'object') ids.delete(id);
        if (ids === id || (typeof ids === 'object' && ids.size === 0)) index.delete(name);
      }
    },
    find(name) {
      const ids = index.get(name) ?? [];
      return typeof ids === 'string' ? [ids] : [...ids];
    },
  };
}
