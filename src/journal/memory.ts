import { counts, type Cap } from '../policy/caps.js';
import type { Attempt, Journal, Owner } from './types.js';

// Closed attempts older than any cap's window are kept only up to this many.
const KEPT = 10_000;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * A journal in memory: right for one process, forgotten when it ends.
 *
 * @example
 * const client = createClient({ walletSecretKey, journal: memoryJournal() });
 */
export function memoryJournal(): Journal {
  const attempts = new Map<string, Attempt>();
  // Ids by what a repeated call is found by: its fingerprint, or its key.
  const index = new Map<string, Set<string>>();
  // The widest window that was ever asked for: who reserves without caps must not make the caps of others forget.
  let widestMs = DAY_MS;
  const unname = (attempt: Attempt) => {
    for (const name of namesOf(attempt)) {
      const ids = index.get(name);
      ids?.delete(attempt.id);
      if (ids?.size === 0) index.delete(name);
    }
  };
  const remove = (id: string) => {
    const attempt = attempts.get(id);
    if (attempt !== undefined) unname(attempt);
    attempts.delete(id);
  };
  const add = (attempt: Attempt) => {
    const before = attempts.get(attempt.id);
    // Its names may change; its place among the others does not.
    if (before !== undefined && namesOf(before).join() !== namesOf(attempt).join()) unname(before);
    attempts.set(attempt.id, attempt);
    for (const name of namesOf(attempt)) index.set(name, (index.get(name) ?? new Set()).add(attempt.id));
  };
  const used = (owner: Owner, cap: Cap, now: number): bigint => {
    let sum = 0n;
    for (const attempt of attempts.values()) {
      const { host, state, at, microUsd } = attempt;
      if (isOf(attempt, owner) && state !== 'unsettled' && at > now - cap.windowMs && counts(cap, host)) sum += BigInt(microUsd ?? 0);
    }
    return sum;
  };
  const named = (owner: Owner, name: string): Attempt[] =>
    [...(index.get(name) ?? [])].flatMap((id) => attempts.get(id) ?? []).filter((attempt) => isOf(attempt, owner));
  return {
    // No await between the check and the write: in one process that makes them one step.
    reserve(attempt, caps) {
      const { idempotencyKey } = attempt;
      const taken =
        idempotencyKey === undefined ? undefined : named(attempt, keyName(idempotencyKey)).find(({ state }) => state !== 'unsettled');
      if (taken !== undefined) return Promise.resolve({ taken });
      const cost = BigInt(attempt.microUsd ?? 0);
      // A negative cost would be credit.
      if (cost < 0n) return Promise.reject(new RangeError('an attempt cannot cost less than nothing'));
      for (const cap of caps) {
        if (!counts(cap, attempt.host)) continue;
        const spent = used(attempt, cap, attempt.at);
        if (spent + cost > cap.limit) return Promise.resolve({ cap, used: spent });
      }
      add(attempt);
      widestMs = Math.max(widestMs, ...caps.map((cap) => cap.windowMs));
      for (const id of prunable(attempts, attempt.at - widestMs)) remove(id);
      return Promise.resolve(undefined);
    },
    put(attempt) {
      add(attempt);
      return Promise.resolve();
    },
    release(id) {
      remove(id);
      return Promise.resolve();
    },
    similar: (owner, fingerprint, idempotencyKey) =>
      Promise.resolve(named(owner, idempotencyKey === undefined ? requestName(fingerprint) : keyName(idempotencyKey))),
    async *attempts(owner, state) {
      for (const attempt of [...attempts.values()]) {
        if (isOf(attempt, owner) && (state === undefined || attempt.state === state)) yield attempt;
      }
    },
    used: (owner, caps, now) => Promise.resolve(caps.map((cap) => used(owner, cap, now))),
  };
}

function isOf(attempt: Attempt, { wallet, network }: Owner): boolean {
  return attempt.wallet === wallet && attempt.network === network;
}

const requestName = (fingerprint: string) => `request ${fingerprint}`;
const keyName = (idempotencyKey: string) => `key ${idempotencyKey}`;

function namesOf({ fingerprint, idempotencyKey }: Attempt): string[] {
  return [requestName(fingerprint), ...(idempotencyKey === undefined ? [] : [keyName(idempotencyKey)])];
}

/** The oldest closed attempts from before a time, as far as there are too many in all. */
function prunable(attempts: ReadonlyMap<string, Attempt>, before: number): string[] {
  const ids: string[] = [];
  if (attempts.size <= KEPT) return ids;
  for (const { id, state, at } of attempts.values()) {
    if (attempts.size - ids.length <= KEPT) break;
    if (at < before && (state === 'settled' || state === 'unsettled')) ids.push(id);
  }
  return ids;
}
