import { systemRuntime } from '../../../src/internal/runtime.js';
import { copyOf } from '../../../src/journal/attempt-json.js';
import { dropsSwap, firstFull, mayDropSwap } from '../../../src/journal/counting.js';
import {
  attemptStates,
  mayFollow,
  openStates,
  type AttemptState,
} from '../../../src/journal/states.js';
import type { Along, Attempt, CapBlock, Journal, Owner } from '../../../src/journal/types.js';
import { jobsOf } from '../../../src/outbox/notices.js';
import { takenOf, type Cap } from '../../../src/policy/caps.js';
import { attemptOf, columnsOf, recordOf, heldFrom } from './attempt-rows.js';
import type { Balances } from './balances.js';
import { batchedReserve } from './batch.js';
import { capValues } from './caps.js';
import type { SharedClaims } from './claims.js';
import type { Database, Row } from './database.js';
import { pastDeadlock } from './deadlock.js';
import { digest, lockKey, lockName, ownerParts } from './keys.js';
import { hasOutbox } from './outbox-endpoints.js';
import type { Adding } from './outbox.js';
import { PAGE, statementsOf } from './statements.js';
import type { Tables } from './tables.js';

// What the database's functions answer besides states.
const WRITTEN = 'written';
const TELL = 'tell';

const states = Object.keys(attemptStates) as AttemptState[];
const releasable = states.filter((state) => attemptStates[state].release);
const decided = states.filter((state) => attemptStates[state].decided);

/** How what is to be told of attempts is added. */
export interface Telling {
  readonly adding: Adding;
  /** Whether this journal has an outbox. One without adds if another of the schema has one. */
  readonly always: boolean;
}

/** What became of a write: which state stands, if any; or which cap has no room. */
interface Written {
  readonly standing?: string | undefined;
  readonly block?: CapBlock;
}

/** What attempts have to do with besides. */
interface Beside {
  readonly telling: Telling;
  readonly claims: Pick<SharedClaims, 'along'>;
  readonly balances: Balances;
}

/** The attempts of a journal in the database's tables, which exist. */
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
  let isTold = always;

  /** By the record as it stands. With caps, no reservation of the owner is made meanwhile. */
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
      const asked = caps.map((cap) => ({ cap, cost: 0n }));
      const rows =
        caps.length === 0
          ? []
          : await query(usedRows, [...ownerParts(attempt), ...capValues(asked, attempt.at)]);
      const used = rows.map((one) => BigInt(one['used'] ?? 0));
      const block = firstFull(caps, used, attempt, before);
      if (block !== undefined) return { block };
      const [{ standing } = {}] = await query(put, [...values, true]);
      const jobs = standing === WRITTEN ? jobsOf(before, attempt, systemRuntime.now()) : [];
      // Another process may have begun to keep events at any time; while none does, there is no
      // place for them.
      if (
        jobs.length > 0 &&
        (always || (await hasOutbox({ query: (_, ...question) => query(...question) }, tables)))
      )
        await add(jobs);
      return { standing };
    });

  /** One statement, for as long as no journal keeps events in the schema. */
  const putOnce = async (attempt: Attempt, values: unknown[]): Promise<Written> => {
    // What ends without a payment is held against the record as it stands.
    if (!isTold && !mayDropSwap(attempt)) {
      const [{ standing } = {}] = await database.query('put', put, [...values, false]);
      if (standing !== TELL) return { standing };
      isTold = true;
    }
    return putWithin('put', attempt, values, []);
  };

  const replace = async (
    given: Attempt,
    along: Along,
    write: (attempt: Attempt, values: unknown[]) => Promise<Written>,
  ) => {
    const attempt = copyOf(given);
    const from = states.filter((state) => mayFollow(state, attempt.state));
    const columns = columnsOf(attempt);
    const { block, standing } = await claims.along(along, async (beside) => {
      const values = [...ownerParts(attempt), attempt.id, from, ...columns, JSON.stringify(beside)];
      const written = await pastDeadlock(() => write(attempt, values));
      return { ...written, isDone: isDone(written.standing) };
    });
    if (block !== undefined || isDone(standing)) return block;
    if (standing === undefined)
      throw new Error(`The attempt ${attempt.id} is not in the journal: it was released.`);
    throw new Error(`The attempt ${attempt.id} is something else by now: it must not go on.`);
  };

  return {
    async reserve(given, caps, along = {}, hold) {
      const attempt = copyOf(given);
      const asked = caps
        .map((cap) => ({ cap, cost: takenOf(cap, attempt) }))
        .filter(({ cost }) => cost > 0n);
      const key = lockFor(attempt);
      const values = [
        ...ownerParts(attempt),
        ...capValues(asked, attempt.at),
        attempt.resigns ?? null,
        attempt.id,
        ...columnsOf(attempt),
        key,
        String(database.timeoutMs),
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
      const blocking = row?.['n'] === undefined ? undefined : asked[Number(row['n'])];
      if (blocking !== undefined) return { cap: blocking.cap, used: BigInt(row?.['used'] ?? 0) };
      return row?.['held'] === undefined ? undefined : heldFrom(row['held']);
    },

    async put(given, along = {}) {
      const work = () => replace(given, along, putOnce);
      await (endsHold(along) ? balances.changing(work) : work());
    },

    raise: (given, caps) =>
      replace(given, {}, (attempt, values) => putWithin('raise', attempt, values, caps)),

    async release(id, along = {}) {
      const work = async (beside: object) => {
        const values = [id, releasable, JSON.stringify(beside)];
        const [{ record } = {}] = isTold
          ? [{ record: TELL }]
          : await database.query('release', release, [...values, false]);
        if (record === TELL) {
          isTold = true;
          await adding('release', digest('attempt', id), async (query, add) => {
            const [gone] = await query(release, [...values, true]);
            if (gone?.['record'] !== undefined)
              await add(jobsOf(recordOf(gone), undefined, systemRuntime.now()));
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

    async *attempts(owner, { state, since } = {}) {
      const isOpen = openStates.some((one) => one === state);
      const listed = isOpen ? text.openAttempts : text.attempts;
      let last: string | undefined = '0';
      while (last !== undefined) {
        const rows: Row[] = await database.query('attempts', listed, [
          ...ownerParts(owner),
          last,
          state ?? null,
          since ?? -Infinity,
        ]);
        for (const row of rows) yield recordOf(row);
        last = rows.length < PAGE ? undefined : rows[rows.length - 1]?.['place'];
      }
    },

    async *owners() {
      const all = `select distinct wallet, network from ${tables.attempts} where state in ('reserved', 'abandoned', 'signed')`;
      for (const { wallet, network } of await database.query('attempts', all, [])) {
        if (wallet !== undefined && network !== undefined) yield { wallet, network };
      }
    },

    async used(owner, caps, now) {
      const asked = caps.map((cap) => ({ cap, cost: 0n }));
      const rows = await database.query('used', usedRows, [
        ...ownerParts(owner),
        ...capValues(asked, now),
      ]);
      return rows.map((row) => BigInt(row['used'] ?? 0));
    },
  };
}

/** One that is decided stays as it is. */
function isDone(standing: string | undefined): boolean {
  return standing === WRITTEN || decided.some((state) => state === standing);
}

function endsHold({ spend, free = [] }: Along): boolean {
  return spend !== undefined || free.length > 0;
}
