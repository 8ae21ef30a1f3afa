import { systemRuntime } from '../../../src/internal/runtime.js';
import { copyOf } from '../../../src/journal/attempt-json.js';
import { dropsSwap, firstFull, mayDropSwap } from '../../../src/journal/attempt-costs.js';
import {
  attemptStates,
  mayFollow,
  openStates,
  type AttemptState,
} from '../../../src/journal/states.js';
import type { Along, Attempt, CapBlock, Journal, Owner } from '../../../src/journal/types.js';
import { jobsOf } from '../../../src/outbox/notices.js';
import { takenOf, type Cap } from '../../../src/policy/caps.js';
import { lockName } from '../shared-locks.js';
import { attemptOf, columnsOf, recordOf, heldFrom } from './attempt-rows.js';
import type { Balances } from './balances.js';
import { batchedReserve } from './batch.js';
import { capValues } from './caps.js';
import type { SharedClaims } from './claims.js';
import { LOCK_MS, type Database, type Row } from './database.js';
import { digest, lockKey, ownerParts } from './keys.js';
import { hasOutbox } from './outbox-endpoints.js';
import type { Adding } from './outbox.js';
import { PAGE, statementsOf } from './statements.js';
import type { Tables } from './tables.js';

// Answers of the stored functions, besides states.
const WRITTEN = 'written';
const TELL = 'tell';

const states = Object.keys(attemptStates) as AttemptState[];
const releasable = states.filter((state) => attemptStates[state].release);
const decided = states.filter((state) => attemptStates[state].decided);

export interface Telling {
  readonly adding: Adding;
  /** Whether this journal has an outbox. If not, it adds events once the schema has an outbox. */
  readonly always: boolean;
}

/** The result of a write: the state now on record, if any; or the cap that has no room. */
interface Written {
  readonly standing?: string | undefined;
  readonly block?: CapBlock;
}

/** The parts of the journal that writes of attempts also change. */
interface Beside {
  readonly telling: Telling;
  readonly claims: Pick<SharedClaims, 'along'>;
  readonly balances: Balances;
}

/** Returns the attempts of a journal in tables that exist. */
export function attemptsIn(
  database: Database,
  tables: Tables,
  { telling: { adding, always }, claims, balances }: Beside,
): Omit<Journal, 'coordination' | 'outbox'> {
  const { schema } = tables;
  const reserve = batchedReserve(database, tables);
  const text = statementsOf(tables);
  const { put, release, used: usedRows } = text;
  const lockFor = (owner: Owner) => lockKey(schema, 'reserve', ...ownerParts(owner));
  let addsEvents = always;

  /** Puts by the record in the database. With caps, it blocks other reservations of the owner. */
  const putWithin = (
    step: string,
    attempt: Attempt,
    values: unknown[],
    caps: readonly Cap[],
  ): Promise<Written> =>
    adding(step, digest('attempt', attempt.id), async (query, add) => {
      if (caps.length > 0) await query(text.lockOwner, [lockFor(attempt)]);
      const [row] = await query(text.standing, [attempt.id]);
      if (row === undefined) return {};
      const before = recordOf(row);
      if (dropsSwap(before, attempt)) return { standing: before.state };
      const checks = caps.map((cap) => ({ cap, cost: 0n }));
      const rows =
        caps.length === 0
          ? []
          : await query(usedRows, [...ownerParts(attempt), ...capValues(checks, attempt.at)]);
      const used = rows.map((row) => BigInt(row['used'] ?? 0));
      const block = firstFull(caps, used, attempt, before);
      if (block !== undefined) return { block };
      const [{ standing } = {}] = await query(put, [...values, true, LOCK_MS]);
      const jobs = standing === WRITTEN ? jobsOf(before, attempt, systemRuntime.now()) : [];
      // Ask each time, because another process may have begun to keep events. While no process
      // keeps events, there is no table for them.
      if (jobs.length > 0 && (always || (await hasOutbox(query, tables)))) await add(jobs);
      return { standing };
    });

  /** Puts with one statement, as long as no journal of the schema keeps events. */
  const putOnce = async (attempt: Attempt, values: unknown[]): Promise<Written> => {
    // An attempt that ends unpaid must not drop an open swap, so its put needs the record first.
    if (!addsEvents && !mayDropSwap(attempt)) {
      const [{ standing } = {}] = await database.query('put', put, [...values, false, LOCK_MS]);
      if (standing !== TELL) return { standing };
      addsEvents = true;
    }
    return putWithin('put', attempt, values, []);
  };

  const replace = async (
    original: Attempt,
    along: Along,
    write: (attempt: Attempt, values: unknown[]) => Promise<Written>,
  ) => {
    const attempt = copyOf(original);
    const from = states.filter((state) => mayFollow(state, attempt.state));
    const columns = columnsOf(attempt);
    const { block, standing } = await claims.along(along, async (beside) => {
      const values = [...ownerParts(attempt), attempt.id, from, ...columns, JSON.stringify(beside)];
      const written = await write(attempt, values);
      return { ...written, isDone: isDone(written.standing) };
    });
    if (block !== undefined || isDone(standing)) return block;
    if (standing === undefined)
      throw new Error(`The attempt ${attempt.id} is not in the journal: it was released.`);
    throw new Error(`The attempt ${attempt.id} is something else by now: it must not go on.`);
  };

  return {
    async reserve(original, caps, along = {}, hold) {
      const attempt = copyOf(original);
      const checks = caps
        .map((cap) => ({ cap, cost: takenOf(cap, attempt) }))
        .filter(({ cost }) => cost > 0n);
      const key = lockFor(attempt);
      const values = [
        ...ownerParts(attempt),
        ...capValues(checks, attempt.at),
        attempt.resigns ?? null,
        attempt.id,
        ...columnsOf(attempt),
        key,
        LOCK_MS,
      ];
      const held = hold && {
        account: hold.account,
        amount: attempt.amount,
        ...hold.fresh,
        lock: lockKey(schema, 'lock', lockName(attempt, hold.unless)),
      };
      const { row } = await balances.changing(() =>
        claims.along(along, async (beside) => {
          const row = await reserve(key, [...values, JSON.stringify({ ...beside, hold: held })]);
          return { row, isDone: row?.['taken'] === undefined && row?.['n'] === undefined };
        }),
      );
      if (row?.['taken'] !== undefined) return { taken: attemptOf(row['taken']) };
      const blocking = row?.['n'] === undefined ? undefined : checks[Number(row['n'])];
      if (blocking !== undefined) return { cap: blocking.cap, used: BigInt(row?.['used'] ?? 0) };
      return row?.['held'] === undefined ? undefined : heldFrom(row['held']);
    },

    async put(original, along = {}) {
      const work = () => replace(original, along, putOnce);
      await (endsHold(along) ? balances.changing(work) : work());
    },

    raise: (original, caps) =>
      replace(original, {}, (attempt, values) => putWithin('raise', attempt, values, caps)),

    async release(id, along = {}) {
      const work = async (beside: object) => {
        const values = [id, releasable, JSON.stringify(beside)];
        const [{ record } = {}] = addsEvents
          ? [{ record: TELL }]
          : await database.query('release', release, [...values, false]);
        if (record === TELL) {
          addsEvents = true;
          await adding('release', digest('attempt', id), async (query, add) => {
            const [released] = await query(release, [...values, true]);
            if (released?.['record'] !== undefined)
              await add(jobsOf(recordOf(released), undefined, systemRuntime.now()));
          });
        }
        return { isDone: true };
      };
      await balances.changing(() => claims.along(along, work));
    },

    similar(owner, fingerprint, idempotencyKey) {
      const [similar, name] =
        idempotencyKey === undefined
          ? [text.similarByRequest, digest(fingerprint)]
          : [text.similarByKey, digest(idempotencyKey)];
      return balances.asking(owner, async () => {
        const rows = await database.query('similar', similar, [...ownerParts(owner), name]);
        return {
          books: rows.filter((row) => row['book'] !== undefined),
          result: rows.filter((row) => row['record'] !== undefined).map(recordOf),
        };
      });
    },

    async *attempts(owner, { state, since = -Infinity } = {}) {
      const isOpen = openStates.some((openState) => openState === state);
      const listed = isOpen ? text.openAttempts : text.attempts;
      let last: string | undefined = '0';
      while (last !== undefined) {
        const rows: Row[] = await database.query('attempts', listed, [
          ...ownerParts(owner),
          last,
          state ?? null,
          since,
        ]);
        for (const attempt of rows.map(recordOf))
          // The column says when the attempt counts as spent, which may be long after it was made.
          if (attempt.at >= since) yield attempt;
        last = rows.length < PAGE ? undefined : rows[rows.length - 1]?.['place'];
      }
    },

    async *owners() {
      const owners = `select distinct wallet, network from ${tables.attempts} where state in ('reserved', 'abandoned', 'signed')`;
      for (const { wallet, network } of await database.query('attempts', owners, [])) {
        if (wallet !== undefined && network !== undefined) yield { wallet, network };
      }
    },

    async used(owner, caps, now) {
      const checks = caps.map((cap) => ({ cap, cost: 0n }));
      const rows = await database.query('used', usedRows, [
        ...ownerParts(owner),
        ...capValues(checks, now),
      ]);
      return rows.map((row) => BigInt(row['used'] ?? 0));
    },
  };
}

/** Whether a put is done: written, or not needed because the attempt on record is decided. */
function isDone(standing: string | undefined): boolean {
  return standing === WRITTEN || decided.some((state) => state === standing);
}

function endsHold({ spend, free = [] }: Along): boolean {
  return spend !== undefined || free.length > 0;
}
