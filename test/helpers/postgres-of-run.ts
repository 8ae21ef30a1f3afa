import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { startPostgres, type Postgres } from './postgres.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Port that answers each connection with the URL of a new database. */
    readonly databases: number;
  }
}

/**
 * Gives all test files of a run the same Postgres server, because `initdb` costs over a second of
 * CPU. It starts with the first database.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let postgres: Promise<Postgres> | undefined;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    postgres ??= startPostgres();
    // A failure ends the run, with its error.
    void postgres
      .then((started) => started.createDatabase())
      .then((address) => socket.end(address));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A bound TCP server's address is never a pipe's name or null.
  project.provide('databases', (server.address() as AddressInfo).port);
  return async () => {
    server.close();
    await (await postgres)?.stop();
  };
}
