import { startDeadline, untilAborted } from '../../../src/internal/abort.js';
import { systemRuntime } from '../../../src/internal/runtime.js';
import { queryOn, type Database, type Query } from './database.js';
import { closed as closedError, failure } from './failure.js';
import { randomLockKey } from './keys.js';
import type { PostgresClient } from './pool.js';

/** Steps that give something up. */
const GIVES_UP: readonly string[] = ['unlock', 'unclaim'];

/** How long to wait before the connection is opened again, at first and at most. */
const REOPEN_MS = { first: 50, most: 2_000 };

/**
 * One connection, kept: what Postgres forgets when it ends, however that happens, is held by it.
 */
export interface Session {
  /**
   * Runs statements on the connection, one call after the other; opens it if it is not. Rejects
   * with `journal_unavailable`.
   */
  run<T>(step: string, work: (query: Query, line: Line) => Promise<T>): Promise<T>;
  /** That of the connection, while it is open. */
  readonly holder: string | undefined;
  /** Opens the connection again if it was lost, in the background. */
  revive(): void;
  /** Ends the connection. */
  close(): Promise<void>;
}

/** What is true of one connection only. */
export interface Line {
  /** The key of an advisory lock that this connection holds and no other one ever did. */
  readonly holder: string;
}

export interface SessionEvents {
  /** To listen on. */
  readonly channel: string;
  /** Puts back what an earlier connection held, before any other call uses this one. */
  restore(query: Query, line: Line): Promise<void>;
  notified(payload: string): void;
  lost(): void;
  /** Whether there is anything to keep a connection for. */
  needed(): boolean;
}

interface Open extends Line {
  readonly client: PostgresClient;
  readonly query: Query;
  end(): void;
}

export function createSession(database: Database, events: SessionEvents): Session {
  let open: Open | undefined;
  let tail: Promise<unknown> = Promise.resolve();
  let reviving = false;
  let closed = false;

  const connect = async (signal: AbortSignal): Promise<Open> => {
    const client = await database.checkOut(signal);
    let ended = false;
    const end = () => {
      if (ended) return;
      ended = true;
      if (open?.client === client) open = undefined;
      // Gone for good: it may hold locks and listen.
      client.release(true);
      events.lost();
    };
    client.on('error', end);
    client.on('end', end);
    client.on('notification', ({ channel, payload }) => {
      if (channel === events.channel) events.notified(payload ?? '');
    });
    const line: Open = { client, query: queryOn(client), holder: randomLockKey(), end };
    try {
      await untilAborted(prepare(line, events), signal);
    } catch (error) {
      end();
      throw error;
    }
    return line;
  };

  const run: Session['run'] = async (step, work) => {
    if (closed) throw closedError(step);
    const deadline = startDeadline(database.timeoutMs, undefined);
    const turn = tail.then(async () => {
      // Work that ran out of time while other work had its turn does not begin.
      if (deadline.signal.aborted) {
        // What should have been given up would be held for ever: it goes with the connection, and
        // the rest is put back on another.
        if (GIVES_UP.includes(step)) open?.end();
        throw deadline.signal.reason;
      }
      open ??= await connect(deadline.signal);
      const line = open;
      line.client.ref?.();
      try {
        return await untilAborted(work(line.query, line), deadline.signal);
      } catch (error) {
        // What became of the statement is not known: what it may have locked goes with the
        // connection.
        line.end();
        throw error;
      } finally {
        // What is held is no reason for a process to go on; the work under it is.
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
      return open?.holder;
    },
    revive: () => void revive(),
    async close() {
      closed = true;
      await tail;
      open?.end();
    },
  };
}

/**
 * Half a minute of silence is the most that Postgres lets a machine that is gone keep its locks.
 */
const KEEPALIVE =
  'set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 4';

async function prepare(line: Open, events: SessionEvents): Promise<void> {
  // The name is made of our own letters.
  await line.query(`${KEEPALIVE}; listen "${events.channel}"`);
  await line.query('select pg_advisory_lock($1::bigint)::text', [line.holder]);
  await events.restore(line.query, line);
}
