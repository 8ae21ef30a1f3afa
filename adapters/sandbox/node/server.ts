import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const HOST = '127.0.0.1';
const MOST_BODY = 1 << 20;
const TRIES = 20;
/** Length of the accept queue, so that many clients at once do not wait for a TCP retry. */
const BACKLOG = 4_096;

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Listens on two neighbouring ports, because web3.js expects WebSocket on the port after HTTP. Port
 * 0 picks a free pair.
 */
export async function listenOnPair(
  port: number,
  make: () => Server,
): Promise<{ port: number; servers: readonly [Server, Server] }> {
  for (let attempt = 1; ; attempt += 1) {
    const first = make();
    const second = make();
    try {
      const taken = await listen(first, port);
      await listen(second, taken + 1);
      return { port: taken, servers: [first, second] };
    } catch (error) {
      first.close();
      if (port !== 0 || attempt === TRIES) throw error;
    }
  }
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    if (port > 65_535) {
      reject(new RangeError('There is no port above 65535 for the WebSocket; choose a lower one.'));
      return;
    }
    server.once('error', reject);
    server.listen(port, HOST, BACKLOG, () => {
      server.removeListener('error', reject);
      resolve(portOf(server.address()));
    });
  });
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string')
    throw new TypeError('The server listens on no port.');
  return address.port;
}

/**
 * Creates a server that never closes an idle connection. A busy machine may send a request after
 * the usual 5 s, just while the server closes, and the client could not know if it arrived.
 */
export function newServer(handler: Handler): Server {
  const server = createServer(handler);
  server.keepAliveTimeout = 0;
  return server;
}

/** Closes a server and all its connections, hanging ones too. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Reads a request's body; resolves with undefined if it is too large. */
export async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= MOST_BODY) chunks.push(chunk);
  }
  return size <= MOST_BODY ? Buffer.concat(chunks).toString('utf8') : undefined;
}

/** Sets CORS headers that allow pages of any origin. */
export function openToBrowsers(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader('access-control-allow-methods', 'POST, GET, OPTIONS');
  response.setHeader(
    'access-control-allow-headers',
    request.headers['access-control-request-headers'] ?? '*',
  );
  response.setHeader('access-control-expose-headers', '*');
  response.setHeader('access-control-max-age', '86400');
}
