import type * as Pg from 'pg';
import { startDeadline, untilAborted } from '../../../src/internal/abort.js';
import { loadPeer } from './peer.js';

/** The part of a `pg` client that the journal uses. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<unknown>;
  release(destroy?: Error | boolean): void;
  /** `ref` lets the connection keep the process alive; `unref` does not. */
  ref?(): void;
  unref?(): void;
  on(event: 'error' | 'end', listener: () => void): unknown;
  on(
    event: 'notification',
    listener: (notice: { readonly channel: string; readonly payload?: string | undefined }) => void,
  ): unknown;
  removeListener(event: string, listener: () => void): unknown;
}

/** The part of a pool that the journal uses; the pool of `pg` has it. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  on(event: 'error', listener: () => void): unknown;
  on(event: 'connect', listener: (client: PostgresClient) => void): unknown;
  removeListener(event: string, listener: (client: PostgresClient) => void): unknown;
}

/** A pool, and a function that closes it. */
export interface OpenPool {
  readonly pool: PostgresPool;
  /** Resolves when all connections are closed, also if the database does not answer. */
  close(): Promise<void>;
}

/** Opens a pool when it is first needed, and again after a failure. */
export function sharedPool(open: () => Promise<OpenPool>) {
  let opening: Promise<OpenPool> | undefined;
  return {
    async pool(): Promise<PostgresPool> {
      opening ??= open().catch((error: unknown) => {
        opening = undefined;
        throw error;
      });
      return (await opening).pool;
    },
    closePool: async (): Promise<void> => (await opening?.catch(ignored))?.close(),
  };
}

// A listener that does nothing: without a listener, an "error" event of a client or pool ends the
// process. The promise of the query rejects anyway.
export const ignored = (): void => undefined;

/**
 * Listens to a new client at once. The same data that open a connection may say that the server
 * shuts down, and then the error comes before the pool's promise gives the client.
 */
const hear = (client: Pick<PostgresClient, 'on'>): void => void client.on('error', ignored);

/** Returns the caller's own pool, which stays open. */
export function borrowPool(pool: PostgresPool): OpenPool {
  pool.on('error', ignored);
  pool.on('connect', hear);
  return {
    pool,
    close() {
      pool.removeListener('error', ignored);
      pool.removeListener('connect', hear);
      return Promise.resolve();
    },
  };
}

/**
 * Opens a pool for an address. Rejects with `ConfigError` (`missing_dependency`) if `pg` is not
 * installed.
 */
export async function openPool(connectionString: string, timeoutMs: number): Promise<OpenPool> {
  const Pool = await loadPool();
  const pool = new Pool({
    connectionString,
    connectionTimeoutMillis: timeoutMs,
    keepAlive: true,
    // An idle journal must not keep the process alive.
    allowExitOnIdle: true,
  });
  const clients = new Set<{ readonly connection: { readonly stream: { destroy(): unknown } } }>();
  pool.on('error', ignored);
  pool.on('connect', hear);
  pool.on('connect', (client) => clients.add(client));
  pool.on('remove', (client) => clients.delete(client));
  return {
    pool,
    async close() {
      const deadline = startDeadline(timeoutMs, undefined);
      try {
        await untilAborted(pool.end(), deadline.signal);
      } catch {
        // The database did not answer the goodbye in time, so cut the connections.
        for (const { connection } of clients) connection.stream.destroy();
      } finally {
        deadline.end();
      }
    },
  };
}

async function loadPool() {
  const pg = await loadPeer('pg@8', () => import('pg'));
  // Before 8.15 `pg` was CommonJS only, and Node exposes only its default export.
  return 'Pool' in pg ? pg.Pool : (pg as { readonly default: typeof Pg }).default.Pool;
}
