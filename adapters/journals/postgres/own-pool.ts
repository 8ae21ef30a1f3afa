import type * as Pg from 'pg';
import { startDeadline, untilAborted } from '../../../src/internal/abort.js';
import { loadPeer } from './peer.js';
import { ignored, type OpenPool } from './pool.js';

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
  const pg = await loadPeer('pg', () => import('pg'));
  // Before 8.15 `pg` was CommonJS only, and Node exposes only its default export.
  return 'Pool' in pg ? pg.Pool : (pg as { readonly default: typeof Pg }).default.Pool;
}
