import { startDeadline, untilAborted } from '../../../src/internal/abort.js';
import { systemRuntime } from '../../../src/internal/runtime.js';
import { queryOn, type Database, type Query } from './database.js';
import { closed as closedError, failure } from './failure.js';
import { randomLockKey } from './keys.js';
import type { PostgresClient } from './pool.js';

const GIVES_UP: readonly string[] = ['unlock', 'unclaim'];

/** Milliseconds before the connection is opened again, at first and at most. */
const REOPEN_MS = { first: 50, most: 2_000 };

/**
 * One lasting connection, which holds the locks and the holder key of claims. Postgres frees them
 * when the connection ends, also after a crash.
 */
export interface Session {
  /**
   * Runs statements on the connection, one call after the other; opens the connection if needed.
   * Rejects with `journal_unavailable`.
   */
  run<T>(step: string, work: (query: Query, holder: string) => Promise<T>): Promise<T>;
  /**
   * The holder key of the connection, while it is open: the key of an advisory lock that only this
   * connection ever held.
   */
  readonly holder: string | undefined;
  /** Opens the connection again if it was lost, in the background. */
  revive(): void;
  close(): Promise<void>;
}

export interface SessionEvents {
  readonly channel: string;
  /** Takes the locks and claims of an earlier connection again, before other calls run. */
  restore(query: Query, holder: string): Promise<void>;
  notified(payload: string): void;
  lost(): void;
  /** Whether locks, claims or listeners need a connection. */
  needed(): boolean;
}

interface Open {
  readonly holder: string;
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
      // Destroy the connection: in the pool, it could still hold locks and listen.
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
        return await untilAborted(work(line.query, line.holder), deadline.signal);
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

/** Settings by which Postgres frees the locks of a vanished machine within half a minute. */
const KEEPALIVE =
  'set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 4';

async function prepare({ query, holder }: Open, events: SessionEvents): Promise<void> {
  // The channel's name has only safe letters, so it needs no escape.
  await query(`${KEEPALIVE}; listen "${events.channel}"`);
  await query('select pg_advisory_lock($1::bigint)::text', [holder]);
  await events.restore(query, holder);
}
