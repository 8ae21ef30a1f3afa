import { untilAborted } from '../../../src/internal/abort.js';
import { systemRuntime } from '../../../src/internal/runtime.js';
import { emptyBalance } from '../../../src/journal/account-balance.js';
import { ledgerOver } from '../../../src/journal/balance-ledger.js';
import { createLocks, type Locks } from '../../../src/journal/locks.js';
import type { Along, Claims, Coordination, Owner } from '../../../src/journal/types.js';
import type { JournalLog, Step } from './port.js';
import { accountName, type State } from './state.js';
import { balanceRecords, dropRecords, lockName } from './steps.js';

/** Runs steps at a log. */
export type Run = <T>(decide: (state: State, log: JournalLog) => Step<T>) => Promise<T>;

/** What the payers of all processes share, by owner. */
export interface LogCoordination {
  of(owner: Owner): Coordination;
  /** Notes what is claimed, or claimed no longer, along with a write. */
  claims(along: Along): void;
  /** Frees all that was locked and claimed. Work that has begun is not stopped. Never rejects. */
  close(): Promise<void>;
}

const FIRST_WAIT_MS = 2;
const LONGEST_WAIT_MS = 50;
/** How often a holder of a lock is looked at, which may have ended without a word. */
const LOOK_MS = 250;

/** What a log does besides steps. */
export type Besides = Pick<JournalLog, 'living' | 'later'> & {
  /** What calls get once it is closed. */
  closedError(): Error;
};

export function coordinationOver(
  run: Run,
  { living, later, closedError }: Besides,
): LogCoordination {
  // Within the process all calls wait for a lock in one place, and the file is asked for it once.
  const queue = createLocks();
  const closing = new AbortController();
  /** Of this journal: another one of the process has the same name in the file. */
  const [held, claimed] = [new Set<string>(), new Set<string>()];

  const take = async (name: string, signals: readonly (AbortSignal | undefined)[]) => {
    let wait = FIRST_WAIT_MS;
    for (let looked = 0; ; looked += wait) {
      for (const signal of signals) if (signal?.aborted === true) throw signal.reason;
      const holder = await run(({ locks }) => {
        const by = locks.get(name);
        return by === undefined
          ? { records: [{ lock: name }], result: undefined }
          : { records: [], result: by };
      });
      if (holder === undefined) return;
      if (looked >= LOOK_MS) {
        await living([holder]);
        looked = 0;
      }
      await signals.reduce<Promise<void>>(untilAborted, systemRuntime.sleep(wait));
      wait = Math.min(2 * wait, LONGEST_WAIT_MS);
    }
  };
  const free = async (names: readonly string[]): Promise<void> => {
    const records = names.flatMap((unlock) => (held.delete(unlock) ? [{ unlock }] : []));
    await run(() => ({ records, result: undefined })).catch(() => later(records));
  };

  const locksOf = (owner: Owner): Locks => ({
    hold(names, work, given = []) {
      const signals = [...given, closing.signal];
      const own = names.map((name) => lockName(owner, name));
      const locked = async () => {
        const taken: string[] = [];
        try {
          // In the order of the names, as in every other process.
          for (const name of [...new Set(own)].sort()) {
            await take(name, signals);
            taken.push(name);
            held.add(name);
          }
          return await work();
        } finally {
          if (taken.length > 0) await free(taken);
        }
      };
      return queue.hold(own, locked, signals);
    },
  });

  const note = ({ claim = [], drop = [] }: Along): void => {
    for (const id of claim) claimed.add(id);
    for (const id of drop) claimed.delete(id);
  };
  const claims: Claims = {
    async take(claim) {
      await run(() => ({ records: [{ claim }], result: undefined }));
      note({ claim });
    },
    async drop(drop) {
      note({ drop });
      await run((state, { me }) => ({ records: dropRecords(state, me, drop), result: undefined }));
    },
    async live(ids) {
      const found = await run(({ claims: all }) => ({
        records: [],
        result: ids.map((id) => [id, [...(all.get(id) ?? [])]] as const),
      }));
      const alive = await living(found.flatMap(([, holders]) => holders));
      return new Set(found.flatMap(([id, by]) => (by.some((one) => alive.has(one)) ? id : [])));
    },
  };

  return {
    of: (owner) => ({
      ledger: ledgerOver({
        read: (account) =>
          run(({ balances }) => ({
            records: [],
            result: balances.get(accountName(owner, account)) ?? emptyBalance,
          })),
        step: (account, decide) =>
          run((state) => {
            const balance = state.balances.get(accountName(owner, account)) ?? emptyBalance;
            const { change, result } = decide(balance);
            const records = change && balanceRecords(state, owner, account, change);
            return { records: records ?? [], result };
          }),
      }),
      locks: locksOf(owner),
      claims,
      next: (name) =>
        run(({ counts }) => {
          const own = lockName(owner, name);
          const number = (counts.get(own) ?? 0) + 1;
          return { records: [{ count: [own, number] }], result: number };
        }),
    }),
    claims: note,
    async close() {
      closing.abort(closedError());
      await free([...held]);
      await claims.drop([...claimed]).catch(() => undefined);
    },
  };
}
