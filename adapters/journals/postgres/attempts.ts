import { systemRuntime } from '../../../src/internal/runtime.js';
import { copyOf } from '../../../src/journal/attempt-json.js';
import { isFoundByRequest } from '../../../src/journal/attempt-names.js';
import {
  costIn,
  countedAt,
  dropsSwap,
  firstFull,
  keepsSwap,
  mayDropSwap,
  type Counted,
} from '../../../src/journal/counting.js';
import {
  attemptStates,
  mayFollow,
  openStates,
  type AttemptState,
} from '../../../src/journal/states.js';
import type { Attempt, CapBlock, Journal, Owner } from '../../../src/journal/types.js';
import { jobsOf } from '../../../src/outbox/notices.js';
import { takenOf, type Cap } from '../../../src/policy/caps.js';
import { plainHost, portless } from '../../../src/policy/hosts.js';
import { batchedReserve } from './batch.js';
import { capRows, capValues } from './caps.js';
import type { Database, Row } from './database.js';
import { pastDeadlock } from './deadlock.js';
import { digest, lockKey, ownerParts } from './keys.js';
import { hasOutbox } from './outbox-endpoints.js';
import type { Adding } from './outbox.js';
import { ATTEMPT_COLUMNS } from './reserve.js';
import type { Tables } from './tables.js';

// How many attempts a statement fetches.
const PAGE = 500;

const states = Object.keys(attemptStates) as AttemptState[];
const releasable = states.filter((state) => attemptStates[state].release);
const decided = states.filter((state) => attemptStates[state].decided);

/** How what is to be told of attempts is added. */
export interface Telling {
  readonly adding: Adding;
  /** Whether this journal has an outbox. One without adds if another of the schema has one. */
  readonly always: boolean;
}

/** The attempts of a journal in the database's tables, which exist. */
export function attemptsIn(
  database: Database,
  tables: Tables,
  { adding, always }: Telling,
): Omit<Journal, 'coordination' | 'outbox'> {
  const { attempts, schema } = tables;
  const reserve = batchedReserve(database, tables);
  const put = (only = '') => `
    update ${attempts} set (${ATTEMPT_COLUMNS}) = ($5, $6::boolean, $7::float8, $8, $9, $10, $11, $12::text[], $13::numeric[], $14, $15, $16)
    where id = $3 and wallet = $1 and network = $2 and state = any ($4::text[]) ${only}
    returning id`;
  // As `mayRelease`.
  const release = (only = '') =>
    `delete from ${attempts} where id = $1 and state = any ($2::text[]) and not keep ${only} returning id, record`;
  const usedRows = `select used::text from (${capRows(tables)}) capped order by n`;
  const lockFor = (owner: Owner) => lockKey(schema, 'reserve', ...ownerParts(owner));

  /** By the record as it stands. With caps, no reservation of the owner is made meanwhile. */
  const putWithin = (
    step: string,
    attempt: Attempt,
    values: unknown[],
    caps: readonly Cap[],
  ): Promise<Row[] | CapBlock> =>
    adding(step, digest('attempt', attempt.id), async (query, add) => {
      if (caps.length > 0)
        await query('select pg_advisory_xact_lock($1::bigint)::text', [lockFor(attempt)]);
      const [row] = await query(`select record from ${attempts} where id = $1 for update`, [
        attempt.id,
      ]);
      if (row === undefined) return [];
      const before = recordOf(row);
      if (dropsSwap(before, attempt)) return [];
      const asked = caps.map((cap) => ({ cap, cost: 0n }));
      const rows =
        caps.length === 0
          ? []
          : await query(usedRows, [...ownerParts(attempt), ...capValues(asked, attempt.at)]);
      const used = rows.map((one) => BigInt(one['used'] ?? 0));
      const block = firstFull(caps, used, counted(attempt), counted(before));
      if (block !== undefined) return block;
      const written = await query(put(), values);
      const jobs = written.length > 0 ? jobsOf(before, attempt, systemRuntime.now()) : [];
      // Another process may have begun to keep events at any time; while none does, there is no
      // place for them.
      if (
        jobs.length > 0 &&
        (always || (await hasOutbox({ query: (_, ...question) => query(...question) }, tables)))
      )
        await add(jobs);
      return written;
    });

  const putAsItStands = (attempt: Attempt, values: unknown[]) =>
    putWithin('put', attempt, values, []);
  const telling: Writes = { put: putAsItStands, release: releaseTelling(adding, release()) };
  const writes = always ? telling : untilTold(database, tables, { put, release }, telling);

  /** @param write - Gives a row if it wrote one. */
  const replace = async (
    given: Attempt,
    write: (attempt: Attempt, values: unknown[]) => Promise<Row[] | CapBlock>,
  ) => {
    const attempt = copyOf(given);
    const from = states.filter((state) => mayFollow(state, attempt.state));
    const written = await pastDeadlock(() =>
      write(attempt, [...ownerParts(attempt), attempt.id, from, ...columnsOf(attempt)]),
    );
    if ('cap' in written) return written;
    if (written.length > 0) return undefined;
    // Asked afterwards: within one statement an attempt that is being released would still seem to
    // be there.
    const [existing] = await database.query('put', `select state from ${attempts} where id = $1`, [
      attempt.id,
    ]);
    if (existing === undefined)
      throw new Error(`The attempt ${attempt.id} is not in the journal: it was released.`);
    if (decided.some((state) => state === existing['state'])) return undefined;
    throw new Error(`The attempt ${attempt.id} is something else by now: it must not go on.`);
  };

  return {
    async reserve(given, caps) {
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
      const row = await reserve(key, values);
      if (row?.['taken'] !== undefined) return { taken: attemptOf(row['taken']) };
      const blocking = row?.['n'] === undefined ? undefined : asked[Number(row['n'])];
      return blocking === undefined
        ? undefined
        : { cap: blocking.cap, used: BigInt(row?.['used'] ?? 0) };
    },

    // What ends without a payment is held against the record as it stands.
    put: async (attempt) =>
      void (await replace(attempt, mayDropSwap(attempt) ? putAsItStands : writes.put)),

    raise: (given, caps) =>
      replace(given, (attempt, values) => putWithin('raise', attempt, values, caps)),

    async release(id) {
      await writes.release([id, releasable]);
    },

    async similar(owner, fingerprint, idempotencyKey) {
      const [column, name] =
        idempotencyKey === undefined
          ? ['request', digest(fingerprint)]
          : ['key', digest(idempotencyKey)];
      const text = `select record from ${attempts} where wallet = $1 and network = $2 and ${column} = $3 order by seq`;
      return (await database.query('similar', text, [...ownerParts(owner), name])).map(recordOf);
    },

    async *attempts(owner, { state, since } = {}) {
      const open = openStates.some((one) => one === state);
      // Named again as it stands in the index of what is open, so that this serves.
      const only = open ? `and state in ('reserved', 'abandoned', 'signed')` : '';
      const text = `select seq::text as place, record from ${attempts}
        where wallet = $1 and network = $2 and seq > $3::bigint and ($4::text is null or state = $4) and at >= $5::float8 ${only}
        order by seq limit ${PAGE}`;
      let last: string | undefined = '0';
      while (last !== undefined) {
        const rows: Row[] = await database.query('attempts', text, [
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
      const text = `select distinct wallet, network from ${attempts} where state in ('reserved', 'abandoned', 'signed')`;
      for (const { wallet, network } of await database.query('attempts', text, [])) {
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

/** How statements that change an attempt are run; `put` gives a row if it wrote one. */
interface Writes {
  put(attempt: Attempt, values: unknown[]): Promise<Row[] | CapBlock>;
  release(values: unknown[]): Promise<Row[]>;
}

/**
 * Single statements for as long as no journal keeps events in the schema. They look at it
 * themselves: another process may begin at any time.
 */
function untilTold(
  database: Database,
  tables: Tables,
  { put, release }: Readonly<Record<'put' | 'release', (only: string) => string>>,
  telling: Writes,
): Writes {
  const only = `and to_regclass('${tables.endpoints}') is null`;
  let isTold = false;
  const write = async <T>(
    alone: () => Promise<Row[]>,
    withEvents: () => Promise<T>,
  ): Promise<Row[] | T> => {
    const rows = isTold ? [] : await alone();
    if (rows.length > 0) return rows;
    isTold ||= await hasOutbox(database, tables);
    return isTold ? withEvents() : rows;
  };
  const [putAlone, releaseAlone] = [put(only), release(only)];
  return {
    put: (attempt, values) =>
      write(
        () => database.query('put', putAlone, values),
        () => telling.put(attempt, values),
      ),
    release: (values) =>
      write(
        () => database.query('release', releaseAlone, values),
        () => telling.release(values),
      ),
  };
}

/** In a transaction, with what is to be told of it. */
function releaseTelling(adding: Adding, release: string): Writes['release'] {
  return (values) =>
    adding('release', digest('attempt', String(values[0])), async (query, add) => {
      const written = await query(release, values);
      for (const row of written) await add(jobsOf(recordOf(row), undefined, systemRuntime.now()));
      return written;
    });
}

function counted(attempt: Attempt): Counted {
  return { attempt, cost: costIn(attempt) };
}

/** In the order of `ATTEMPT_COLUMNS`. */
function columnsOf(attempt: Attempt): unknown[] {
  const { state, host, payTo, mint, fingerprint, idempotencyKey } = attempt;
  const cost = [...costIn(attempt)];
  return [
    state,
    keepsSwap(attempt),
    countedAt(attempt),
    plainHost(host),
    portless(host),
    payTo,
    mint,
    cost.map(([unit]) => unit),
    cost.map(([, value]) => value.toString()),
    idempotencyKey === undefined ? null : digest(idempotencyKey),
    isFoundByRequest(attempt) ? digest(fingerprint) : null,
    JSON.stringify(attempt),
  ];
}

function recordOf(row: Row): Attempt {
  return attemptOf(row['record'] ?? 'null');
}

function attemptOf(record: string): Attempt {
  // Written from an attempt, above.
  return JSON.parse(record) as Attempt;
}
