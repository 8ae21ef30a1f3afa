import type { Cost } from '../policy/cost.js';
import { costIn, countedAt } from './attempt-costs.js';
import { createLargeMap } from './large-map.js';
import type { Attempt, Owner } from './types.js';

/** The fields of a payment by which caps tell payments apart. */
export interface CapScope extends Owner {
  readonly host: string;
  readonly payTo: string;
  readonly mint: string;
}

/**
 * Prefix of fingerprints of payments that another program signed and handed over: a service sees
 * their bytes, and no request.
 */
export const FROM_SERVICE = 'auto-pay ';

/**
 * Whether another program signed the attempt and handed over its bytes. The seller answers that
 * program, so this process does not wait for the answer.
 */
export function isFromService({ fingerprint }: Pick<Attempt, 'fingerprint'>): boolean {
  return fingerprint.startsWith(FROM_SERVICE);
}

/**
 * Whether another program presents the payment, and gets the answer. An attempt with its id as
 * fingerprint is of no request.
 */
export function isPresentedElsewhere({ id, fingerprint }: Attempt): boolean {
  return fingerprint === id || isFromService({ fingerprint });
}

/** Whether nothing more can happen to an attempt: only its receipt or its costs remain. */
export function isClosed(attempt: Attempt): boolean {
  const { state, delivered } = attempt;
  return (
    state === 'unsettled' ||
    state === 'unpaid' ||
    (state === 'settled' && (delivered || isPresentedElsewhere(attempt)))
  );
}

export function belongsTo({ wallet, network }: Owner, owner: Owner): boolean {
  return wallet === owner.wallet && network === owner.network;
}

export const ownerName = ({ wallet, network }: Owner): string => `${network} ${wallet}`;

// Lengths keep the parts apart, because each part may hold any text. JSON would be slower, and each
// write makes a name.
export const placeName = ({ host, payTo, mint }: Omit<CapScope, keyof Owner>): string =>
  `${host.length} ${payTo.length} ${host}${payTo}${mint}`;

/**
 * Whether a repeated call without a key can find an attempt. A delivered attempt is over, however
 * often the caller repeats the purchase, unless it resigns an earlier attempt.
 */
export function isFoundByRequest({ delivered, resigns }: Attempt): boolean {
  return !delivered || resigns !== undefined;
}

export const requestName = (fingerprint: string): string => `request ${fingerprint}`;

export const keyName = (idempotencyKey: string): string => `key ${idempotencyKey}`;

export function namesOf(attempt: Attempt): string[] {
  const { fingerprint, idempotencyKey } = attempt;
  return [
    ...(isFoundByRequest(attempt) ? [requestName(fingerprint)] : []),
    ...(idempotencyKey === undefined ? [] : [keyName(idempotencyKey)]),
  ];
}

/** An attempt, with values that the store needs at each step. */
export interface Entry {
  readonly attempt: Attempt;
  readonly cost: Cost;
  readonly names: readonly string[];
  readonly owner: string;
  readonly place: string;
  /** When the attempt counts as spent. Milliseconds since the epoch. */
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

/** Whether replacing `before` by `after` changes no sum and no name. */
export function isSameEntry(before: Entry, after: Entry): boolean {
  return (
    before.at === after.at &&
    before.owner === after.owner &&
    before.place === after.place &&
    before.names.length === after.names.length &&
    before.names.every((name, index) => after.names[index] === name) &&
    before.cost.size === after.cost.size &&
    [...after.cost].every(([unit, value]) => before.cost.get(unit) === value)
  );
}

/** Ids by name. There are many names, and most have one id. */
interface NameIndex {
  add(names: readonly string[], id: string): void;
  remove(names: readonly string[], id: string): void;
  find(name: string): readonly string[];
}

export function createNameIndex(): NameIndex {
  // A single id is kept as text, because a set for each name takes five times the memory.
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
