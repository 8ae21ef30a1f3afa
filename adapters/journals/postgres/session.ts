import { startDeadline, untilAborted } from '../../../src/internal/abort.js';
import { systemRuntime } from '../../../src/internal/runtime.js';
import { queryOn, type Database, type Query } from './database.js';
import { closed as closedError, failure, pooled } from './failure.js';
import { randomLockKey } from './keys.js';
import { ignored, type PostgresClient } from './pool.js';
import { statementsOf } from './statements.js';
import type { Tables } from './tables.js';

const GIVES_UP: readonly string[] = ['unlock', 'unclaim'];

/**
 * Settings by which Postgres frees the locks of a vanished machine within half a minute, but never
 * the locks of an idle connection. Postgres 13 has no `idle_session_timeout`.
 */
const KEEPALIVE = `set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 4;
  select set_config(name, '0', false) from pg_settings where name = 'idle_session_timeout'`;

/** Milliseconds before the connection is opened again, at first and at most. */
const REOPEN_MS = { first: 50, most: 2_000 };

/** Milliseconds within which a notification arrives, unless the database is busy. */
const HEARS_MS = 250;

/**
 * One lasting connection, which holds the locks and the holder key of claims. Postgres frees them
 * when the connection ends, also after a crash.
 */
export interface Session {
  /**
   * Runs statements on the connection, one call after the other; opens the connection if needed.
   * Rejects with `journal_unavailable`, or `invalid_option` if a proxy does not keep the session.
   *
   * @param work - Gets the holder key, and the id of the one server process that holds it.
   */
  run<T>(step: string, work: (query: Query, holder: string, pid: string) => Promise<T>): Promise<T>;
  /**
   * The key of an advisory lock that only connections of this session ever hold, while one is open.
   */
  readonly holder: string | undefined;
  /** The caller's option that names the database. */
  readonly option: string;
  /** Opens the connection again if it was lost, in the background. */
  revive(): void;
  close(): Promise<void>;
}

export interface SessionEvents {
  readonly channel: string;
  /** The caller's option that names the database. */
  readonly option: string;
  /** Takes the locks and claims of an earlier connection again, before other calls run. */
  restore(query: Query, holder: string, pid: string): Promise<void>;
  notified(payload: string): void;
  lost(): void;
  /** Whether locks, claims or listeners need a connection. */
  needed(): boolean;
}

interface Open {
  readonly client: PostgresClient;
  readonly query: Query;
  readonly pid: string;
  end(): void;
}

export function createSession(database: Database, tables: Tables, events: SessionEvents): Session {
  const text = statementsOf(tables);
  const holder = randomLockKey();
  let open: Open | undefined;
  let tail: Promise<unknown> = Promise.resolve();
  let reviving = false;
  let closed = false;

  const connect = async (signal: AbortSignal): Promise<Open> => {
    const client = await database.checkOut(signal);
    let ended = false;
    const hasEnded = () => ended;
    const end = () => {
      if (ended) return;
      ended = true;
      if (open?.client === client) open = undefined;
      // Destroy the connection: in the pool, it could still hold locks and listen.
      client.release(true);
      events.lost();
    };
    client.on('error', end);
    client.on('end', end);
    let heard = new AbortController();
    client.on('notification', ({ channel, payload }) => {
      if (channel !== events.channel) return;
      if (payload === holder) heard.abort();
      events.notified(payload ?? '');
    });
    const query = queryOn(client, () => database.timeoutMs);
    const hearing = () => (heard = new AbortController()).signal;
    try {
      const pid = await untilAborted(prepare(query, hearing), signal);
      // The data with the last answer may also have ended the connection.
      if (hasEnded()) throw new Error('The connection has ended.');
      return { client, query, pid, end };
    } catch (error) {
      end();
      throw error;
    }
  };

  /**
   * Returns the id of the server process, once it is certain that the connection keeps its session:
   * only then a notification arrives while the connection runs no statement. PgBouncer in
   * transaction mode gives the process to other clients meanwhile, and drops the notification.
   */
  const provenPid = async (query: Query, hearing: () => AbortSignal): Promise<string> => {
    const pidOf = async () => (await query(text.pid))[0]?.['pid'];
    const pid = await pidOf();
    for (;;) {
      const heard = hearing();
      const isHeard = () => heard.aborted;
      const [row] = await database.query('connect', text.notify, [events.channel, holder]);
      if (pid === undefined || row?.['pid'] === pid) break;
      await systemRuntime.idle(HEARS_MS, heard).catch(ignored);
      if (isHeard()) return pid;
      // A kept session hears a late notification with these statements: then ask again.
      await pidOf();
      await pidOf();
      if (!isHeard()) break;
    }
    await query(`unlisten "${events.channel}"`);
    throw pooled(events.option);
  };

  const prepare = async (query: Query, hearing: () => AbortSignal): Promise<string> => {
    // The channel's name has only safe letters, so it needs no escape.
    await query(`${KEEPALIVE}; listen "${events.channel}"`);
    const pid = await provenPid(query, hearing);
    // Postgres may keep a lost connection, with its locks, until it notices the loss. So end that
    // connection first, and wait for its end. Not every role may: then only the wait remains.
    await query(text.endHolder, [holder]).catch(ignored);
    await query(text.hold, [holder]);
    await events.restore(query, holder, pid);
    return pid;
  };

  const run: Session['run'] = async (step, work) => {
    if (closed) throw closedError(step);
    const deadline = startDeadline(database.timeoutMs, undefined);
    const turn = tail.then(async () => {
      // Work does not begin if its deadline passed while it waited for its turn.
      if (deadline.signal.aborted) {
        // A skipped release would hold the lock for ever. So end the connection, which frees all;
        // the next connection takes the other locks again.
        if (GIVES_UP.includes(step)) open?.end();
        throw deadline.signal.reason;
      }
      open ??= await connect(deadline.signal);
      const line = open;
      line.client.ref?.();
      try {
        return await untilAborted(work(line.query, holder, line.pid), deadline.signal);
      } catch (error) {
        // The fate of the statement is unknown: end the connection, so that it holds no lock.
        line.end();
        throw error;
      } finally {
        // Held locks must not keep the process alive; the work under them does.
        line.client.unref?.();
      }
    });
    tail = turn.catch(() => undefined);
    try {
      return await untilAborted(turn, deadline.signal);
    } catch (error) {
      throw failure(step, error);
    } finally {
      deadline.end();
    }
  };

  const revive = async (): Promise<void> => {
    if (reviving) return;
    reviving = true;
    let wait = REOPEN_MS.first;
    while (!closed && open === undefined && events.needed()) {
      try {
        await run('connect', () => Promise.resolve());
      } catch {
        await systemRuntime.idle(wait);
        wait = Math.min(2 * wait, REOPEN_MS.most);
      }
    }
    reviving = false;
  };

  return {
    run,
    get holder() {
      return open === undefined ? undefined : holder;
    },
    option: events.option,
    revive: () => void revive(),
    async close() {
      closed = true;
      await tail;
      open?.end();
    },
  };
}
