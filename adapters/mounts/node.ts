/**
 * Parts that need Node: a service in its own server or in yours, keys in files, and options in the
 * environment.
 *
 * @module exact-change/node
 */
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { refuse, refuseUnknown } from '../../src/internal/options.js';
import { parseUrl } from '../../src/internal/parse.js';
import { readWhole } from '../read-whole.js';
import type { FetchHandler } from './fetch-handler.js';
import { exchange } from './node/exchange.js';
import { watchSockets } from './node/sockets.js';

export { clientFromEnv } from '../node/from-env.js';
export { fromFile } from '../node/key-file.js';
export { clientAddress } from './node/incoming.js';
export type { FetchHandler } from './fetch-handler.js';

export interface ListenerOptions {
  /**
   * Names of the service, such as `pay.example.com` or, with a port, `localhost:4021`. A request to
   * any other name is refused, because an attacker's page can use a domain that points at this
   * machine. Default of a listener: any name.
   */
  readonly hosts?: readonly string[] | undefined;
}

export interface ServeOptions extends ListenerOptions {
  /** 0 for any free port. */
  readonly port: number;
  /**
   * Host name or address to listen on; default `127.0.0.1`. On the loopback, the default of `hosts`
   * is `localhost`, `127.0.0.1`, `[::1]` and this name.
   */
  readonly hostname?: string | undefined;
  /** Milliseconds for the headers of a request to arrive; default 10000. */
  readonly headersTimeoutMs?: number | undefined;
  /**
   * Milliseconds for a whole request to arrive, at least `headersTimeoutMs`. The caller has the same
   * time to read the answer. Default 15000.
   */
  readonly requestTimeoutMs?: number | undefined;
  /** Connections at the same time; further connections are closed. Default 4096. */
  readonly maxConnections?: number | undefined;
  /**
   * Called with the error of a handler that rejects; the caller gets 500 without details. The
   * handler of `createHandler` never rejects.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface Service {
  /** Address of the service, such as `http://127.0.0.1:4021`. */
  readonly url: string;
  readonly port: number;
  /**
   * Takes no more requests, answers the open requests, and resolves when every connection is
   * closed. After `graceMs` (default 10000), it closes connections by force.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

const NAMES: readonly string[] = [
  'port',
  'hostname',
  'hosts',
  'headersTimeoutMs',
  'requestTimeoutMs',
  'maxConnections',
  'onError',
];
const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];
const MAX_HEADER_BYTES = 16_384;
const KEEP_ALIVE_MS = 5_000;
const MAX_REQUESTS_PER_SOCKET = 1_000;
/**
 * Milliseconds between Node's checks for connections that are over their time. With Node's own 30 s,
 * a connection could have four times its time.
 */
const CHECK_MS = 1_000;

/**
 * Creates a listener for `node:http` or `node:https` that serves a handler. Set the timeouts and
 * limits of the server yourself: see {@link serve}.
 *
 * Throws `ConfigError` (`invalid_option`) if an option is unknown or wrong.
 *
 * @example
 * createServer(tls, nodeListener(createHandler(local()))).listen(443);
 */
export function nodeListener(
  handler: FetchHandler,
  options: ListenerOptions = {},
): RequestListener {
  refuseUnknown(options, ['hosts']);
  const names = readHosts(options.hosts);
  return listener(
    handler,
    () => names,
    () => undefined,
  );
}

function listener(
  handler: FetchHandler,
  hosts: () => readonly string[] | undefined,
  onError: (error: unknown) => void,
): RequestListener {
  return (message, outgoing) => {
    const { socket, url: target = '/' } = message;
    const scheme = 'encrypted' in socket ? 'https' : 'http';
    exchange(handler, message, outgoing, {
      target,
      scheme,
      hosts: hosts(),
      address: socket.remoteAddress,
    }).catch((error: unknown) => {
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(500).end();
      onError(error);
    });
  };
}

/**
 * Serves a handler on a port of its own, in plain HTTP. It withstands callers that are slow on
 * purpose: the time for headers and bodies, their size, and the number of connections are bounded.
 *
 * Throws `ConfigError` (`invalid_option`) at once if the options are wrong; rejects if it cannot
 * listen on the port.
 *
 * @example
 * const service = await serve(createHandler(local(), { authorize: apiKeys([apiKey]) }), {
 *   port: 4021,
 * });
 */
export function serve(handler: FetchHandler, options: ServeOptions): Promise<Service> {
  refuseUnknown(options, NAMES);
  const { hostname = '127.0.0.1', onError = () => undefined } = options;
  const port = readWhole('port', options.port, 0, 65_535);
  const headersTimeout = readWhole('headersTimeoutMs', options.headersTimeoutMs ?? 10_000, 1);
  const requestTimeout = readWhole(
    'requestTimeoutMs',
    options.requestTimeoutMs ?? 15_000,
    headersTimeout,
  );
  let hosts = readHosts(options.hosts);

  const server = createServer(
    {
      headersTimeout,
      requestTimeout,
      connectionsCheckingInterval: Math.min(CHECK_MS, headersTimeout),
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
    },
    listener(handler, () => hosts, onError),
  );
  const host = hostname.includes(':') ? `[${hostname}]` : hostname;
  // Many names lead to the loopback, so the address that they led to decides.
  server.once('listening', () => {
    const name = parseUrl(`http://${host}`)?.hostname ?? host;
    if (isOnLoopback(server)) hosts ??= [...LOOPBACK, name];
  });
  server.on('request', (_, outgoing) => boundAnswer(outgoing, requestTimeout));
  server.maxConnections = readWhole('maxConnections', options.maxConnections ?? 4_096, 1);
  server.maxRequestsPerSocket = MAX_REQUESTS_PER_SOCKET;
  return listening(server, port, hostname, host);
}

/** Whether only this machine can reach a server that listens. */
function isOnLoopback(server: Server): boolean {
  const bound = server.address();
  const address = typeof bound === 'object' ? (bound?.address ?? '') : '';
  return address === '::1' || /^(?:::ffff:)?127\./.test(address);
}

/**
 * Limits the time to read an answer: Node would wait without end for a caller that reads nothing,
 * and keep the connection and the answer.
 */
function boundAnswer(outgoing: ServerResponse, ms: number): void {
  outgoing.once('prefinish', () => {
    // The caller left before the answer was complete.
    if (outgoing.destroyed) return;
    const timer = setTimeout(() => outgoing.destroy(), ms);
    outgoing.once('close', () => clearTimeout(timer));
  });
}

function listening(server: Server, port: number, hostname: string, host: string): Promise<Service> {
  const sockets = watchSockets(server);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, hostname, () => {
      server.off('error', reject);
      const address = server.address();
      const bound = typeof address === 'object' && address !== null ? address.port : port;
      resolve({
        url: `http://${host}:${bound}`,
        port: bound,
        close: ({ graceMs = 10_000 } = {}) => sockets.end(graceMs),
      });
    });
  });
}

function readHosts(hosts: unknown): readonly string[] | undefined {
  if (hosts === undefined) return undefined;
  const isName = (name: unknown): name is string =>
    typeof name === 'string' && /^[^\s/@?#]+$/.test(name);
  if (!Array.isArray(hosts) || !hosts.every(isName))
    throw refuse('hosts', 'must be a list of names such as "pay.example.com".');
  return hosts.map((host) => host.toLowerCase());
}
