import {
  changed,
  emptyBalance,
  type AccountBalance,
} from '../../../src/journal/account-balance.js';
import { createAttemptStore } from '../../../src/journal/attempt-store.js';
import type { SpentKeys } from '../../../src/journal/spent-keys.js';
import type { Archive, AttemptStore } from '../../../src/journal/store-types.js';
import type { Owner } from '../../../src/journal/types.js';
import { createOutboxStore, type OutboxStore } from '../../../src/outbox/store.js';
import { balanceFrom, changeFrom } from '../balance-json.js';
import type { ProcessId } from './process-id.js';
import { spentOf, type FileRecord } from './records.js';

/** The state that the lines of a file give. It is the same for each process that reads them. */
export interface State {
  readonly attempts: AttemptStore;
  readonly outbox: OutboxStore;
  /** Balances of accounts, by {@link accountName}. */
  readonly balances: ReadonlyMap<string, AccountBalance>;
  /** Process ids of the claimers, by claimed id. */
  readonly claims: ReadonlyMap<string, ReadonlySet<string>>;
  /** Process id of the holder, by lock name. */
  readonly locks: ReadonlyMap<string, string>;
  /** The current number of each counter, by name; the oldest counter first. */
  readonly counts: ReadonlyMap<string, number>;
  /** Processes that use the file and may live, by id. */
  readonly seats: ReadonlyMap<string, ProcessId>;
  /** Jobs that each process took: job id and end of the lease, in milliseconds since the epoch. */
  readonly taken: ReadonlyMap<string, ReadonlyMap<string, number>>;
  readonly history: number;
  /** Id of the process that sealed the file: no more lines count, because a new file comes. */
  readonly sealedBy: string | undefined;
  apply(by: string, records: readonly FileRecord[]): void;
}

const MOST_COUNTS = 2_048;

/** The name of the lock on a rewrite of the file. All other lock names begin with an owner. */
export const REWRITING = 'rewriting';

export function accountName({ wallet, network }: Owner, account: string): string {
  return JSON.stringify([wallet, network, account]);
}

/** Returns wallet, network and account of an {@link accountName}. */
export function accountOf(name: string): readonly [string, string, string] {
  return JSON.parse(name) as [string, string, string];
}

/** @param archive - Without an archive, the last closed attempts stay, as in a memory journal. */
export function createState(archive?: Archive, keys?: SpentKeys): State {
  const attempts = createAttemptStore(archive, keys);
  const outbox = createOutboxStore();
  const balances = new Map<string, AccountBalance>();
  const claims = new Map<string, Set<string>>();
  const locks = new Map<string, string>();
  const counts = new Map<string, number>();
  const seats = new Map<string, ProcessId>();
  const taken = new Map<string, Map<string, number>>();
  let history = 0;
  let sealedBy: string | undefined;

  const drop = (id: string, by: string): void => {
    const holders = claims.get(id);
    holders?.delete(by);
    if (holders?.size === 0) claims.delete(id);
  };
  const endProcess = (process: string): void => {
    seats.delete(process);
    for (const id of [...claims.keys()]) drop(id, process);
    for (const [name, by] of locks) if (by === process) locks.delete(name);
    outbox.giveBack([...(taken.get(process)?.keys() ?? [])]);
    taken.delete(process);
    if (sealedBy === process) sealedBy = undefined;
  };
  const count = (name: string, number: number): void => {
    // Names are blockhashes; about 150 are valid at a time.
    const [oldest] = counts.keys();
    if (counts.size >= MOST_COUNTS && !counts.has(name) && oldest !== undefined)
      counts.delete(oldest);
    counts.set(name, number);
  };
  const take = (by: string, until: number, ids: readonly string[]): void => {
    const jobs = taken.get(by) ?? new Map<string, number>();
    for (const id of ids) {
      endJob(id);
      taken.set(by, jobs.set(id, until));
    }
  };
  const endJob = (id: string): void => {
    for (const ids of taken.values()) ids.delete(id);
  };

  const applyOne = (by: string, record: FileRecord): void => {
    if ('put' in record) attempts.keep(record.put);
    else if ('release' in record) attempts.remove(record.release);
    else if ('claim' in record)
      for (const id of record.claim) claims.set(id, (claims.get(id) ?? new Set()).add(by));
    else if ('drop' in record) for (const id of record.drop) drop(id, by);
    else if ('lock' in record) locks.set(record.lock, by);
    else if ('unlock' in record) locks.delete(record.unlock);
    else if ('count' in record) count(...record.count);
    else if ('balance' in record) {
      const [wallet, network, account, change] = record.balance;
      const name = accountName({ wallet, network }, account);
      balances.set(name, changed(balances.get(name) ?? emptyBalance, changeFrom(change)));
    } else if ('seat' in record) seats.set(by, record.seat);
    else if ('gone' in record) endProcess(record.gone);
    else if ('sealed' in record) sealedBy = record.sealed ? by : undefined;
    else if ('made' in record) attempts.count(record.made);
    else if ('spent' in record) attempts.spending.restore(spentOf(record.spent));
    else if ('keys' in record)
      for (const [key, place, at] of record.keys.keys) attempts.spend(record.keys, key, place, at);
    else if ('book' in record) {
      const [wallet, network, account, balance] = record.book;
      balances.set(accountName({ wallet, network }, account), balanceFrom(balance));
    } else if ('history' in record) history = record.history;
    else if (!('synced' in record)) {
      if ('taken' in record) {
        const [until, ...ids] = record.taken;
        take(by, until, ids);
      }
      if ('jobDone' in record) endJob(record.jobDone);
      outbox.apply(record);
    }
  };

  return {
    ...{ attempts, outbox, balances, claims, locks, counts, seats, taken },
    get history() {
      return history;
    },
    get sealedBy() {
      return sealedBy;
    },
    apply: (by, records) => records.forEach((record) => applyOne(by, record)),
  };
}
