import { untilAborted } from '../../../src/internal/abort.js';
import { systemRuntime } from '../../../src/internal/runtime.js';
import { emptyBalance } from '../../../src/journal/account-balance.js';
import { ledgerOver } from '../../../src/journal/balance-ledger.js';
import type { Along, Claims, Coordination, Owner } from '../../../src/journal/types.js';
import { lockName, sharedLocks } from '../shared-locks.js';
import { reads, writes, type JournalLog, type Step } from './port.js';
import type { FileRecord } from './records.js';
import { accountName, type State } from './state.js';
import { balanceRecords, dropRecords, unlockRecords } from './steps.js';

export type Run = <T>(decide: (state: State, log: JournalLog) => Step<T>) => Promise<T>;

/** Balances, locks, claims and counters that the processes share, by owner. */
export interface LogCoordination {
  of(owner: Owner): Coordination;
  /** Notes the claims that a write took or released. */
  claims(along: Along): void;
  /**
   * Releases all locks and claims, by steps of `runLast`. Does not stop the work that runs under
   * them. Never rejects.
   */
  close(runLast: Run): Promise<void>;
}

const FIRST_WAIT_MS = 2;
const LONGEST_WAIT_MS = 50;
/** How often a waiting call checks if the holder of a lock still lives. Milliseconds. */
const LOOK_MS = 250;

/** The calls of a log that are no steps. */
export type LogCalls = Pick<JournalLog, 'living'> & {
  /** Writes records as soon as possible. */
  later(recordsIn: (state: State, log: JournalLog) => readonly FileRecord[]): void;
  closedError(): Error;
};

export function coordinationOver(
  run: Run,
  { living, later, closedError }: LogCalls,
): LogCoordination {
  const closing = new AbortController();
  /** Locks and claims of this journal; in the file, all journals of a process share one id. */
  const [held, claimed] = [new Set<string>(), new Set<string>()];

  const take = async (name: string, signals: readonly (AbortSignal | undefined)[]) => {
    let wait = FIRST_WAIT_MS;
    for (let looked = 0; ; looked += wait) {
      for (const signal of signals) if (signal?.aborted === true) throw signal.reason;
      const holder = await run(({ locks }) => {
        const by = locks.get(name);
        return by === undefined ? writes([{ lock: name }]) : reads(by);
      });
      if (holder === undefined) return void held.add(name);
      if (looked >= LOOK_MS) {
        const hasEnded = !(await living([holder])).has(holder);
        // `living` ignores a disk error, and the lock would never become free: fail by that error.
        if (hasEnded)
          await run(({ locks }) => writes(locks.get(name) === holder ? [{ gone: holder }] : []));
        looked = 0;
      }
      await signals.reduce<Promise<void>>(untilAborted, systemRuntime.sleep(wait));
      wait = Math.min(2 * wait, LONGEST_WAIT_MS);
    }
  };
  const freeBy = async (runStep: Run, names: readonly string[]): Promise<void> => {
    const mine = names.filter((name) => held.delete(name));
    if (mine.length === 0) return;
    const unlock = (state: State, { me }: JournalLog) => unlockRecords(state, me, mine);
    await runStep((state, log) => writes(unlock(state, log))).catch(() => later(unlock));
  };

  const locksOf = sharedLocks(closing.signal, { take, free: (names) => freeBy(run, names) });

  const note = ({ claim = [], drop = [] }: Along): void => {
    for (const id of claim) claimed.add(id);
    for (const id of drop) claimed.delete(id);
  };
  const claims: Claims = {
    async take(claim) {
      await run(() => writes([{ claim }]));
      note({ claim });
    },
    async drop(drop) {
      await run((state, { me }) => writes(dropRecords(state, me, drop)));
      note({ drop });
    },
    async live(ids) {
      const found = await run(({ claims: all }) =>
        reads(ids.map((id) => [id, [...(all.get(id) ?? [])]] as const)),
      );
      const alive = await living(found.flatMap(([, holders]) => holders));
      return new Set(
        found.flatMap(([id, holders]) => (holders.some((by) => alive.has(by)) ? id : [])),
      );
    },
  };

  return {
    of: (owner) => ({
      ledger: ledgerOver({
        read: (account) =>
          run(({ balances }) => reads(balances.get(accountName(owner, account)) ?? emptyBalance)),
        step: (account, decide, of, isOnRecord) =>
          run((state) => {
            const balance = state.balances.get(accountName(owner, account)) ?? emptyBalance;
            const { attempts } = state;
            const hasEnded =
              of !== undefined &&
              (isOnRecord === true ? !attempts.isOpen(of) : attempts.hasEnded(of));
            const { change, result } = decide(hasEnded ? emptyBalance : balance);
            if (change === undefined || hasEnded) return reads(result);
            return { records: balanceRecords(state, owner, account, change), result };
          }),
      }),
      locks: locksOf(owner),
      claims,
      next: (name) =>
        run(({ counts }) => {
          const countName = lockName(owner, name);
          const number = (counts.get(countName) ?? 0) + 1;
          return { records: [{ count: [countName, number] }], result: number };
        }),
    }),
    claims: note,
    async close(runLast) {
      closing.abort(closedError());
      await freeBy(runLast, [...held]);
      const drop = (state: State, { me }: JournalLog) => dropRecords(state, me, [...claimed]);
      await runLast((state, log) => writes(drop(state, log))).catch(() => undefined);
    },
  };
}
