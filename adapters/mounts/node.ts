/**
 * What needs Node: a service, in a server of its own or of yours; keys in files; and options in the
 * environment.
 *
 * @module exact-change/node
 */
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { isLoopback } from '../../src/internal/origin.js';
import { refuse, refuseUnknown } from '../../src/internal/options.js';
import type { FetchHandler } from './fetch-handler.js';
import { exchange } from './node/exchange.js';
import { watchSockets } from './node/sockets.js';

export { clientFromEnv } from '../node/from-env.js';
export { fromFile } from '../node/key-file.js';
export { clientAddress } from './node/incoming.js';
export type { FetchHandler } from './fetch-handler.js';

export interface ListenerOptions {
  /**
   * Names that the service is called by, such as `pay.example.com` or, with a port,
   * `localhost:4021`. What is sent to another is refused: the page of an attacker whose domain
   * points at this machine is of the attacker's name. Default of a listener: any.
   */
  readonly hosts?: readonly string[] | undefined;
}

export interface ServeOptions extends ListenerOptions {
  /** 0 for one that is free. */
  readonly port: number;
  /**
   * What to listen on; default `127.0.0.1`. On the loopback `hosts` are `localhost`, `127.0.0.1`
   * and `[::1]` unless given.
   */
  readonly hostname?: string | undefined;
  /** Milliseconds for the headers of a request to arrive; default 10000. */
  readonly headersTimeoutMs?: number | undefined;
  /**
   * Milliseconds for all of a request to arrive, no less than its headers have, and as long again
   * for its answer to be taken; default 15000.
   */
  readonly requestTimeoutMs?: number | undefined;
  /** Connections at once; those beyond are closed. Default 4096. */
  readonly maxConnections?: number | undefined;
  /**
   * Hears of a handler that threw, which is answered with 500 and no word of it. That of
   * `createHandler` never does.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface Service {
  /** Where it listens, such as `http://127.0.0.1:4021`. */
  readonly url: string;
  readonly port: number;
  /**
   * Takes no more requests, answers those that have come, and resolves when every connection is
   * closed: after `graceMs` (default 10000) by force.
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
 * How often Node looks for connections that are over their time; its own 30 s would let them have
 * four times as much.
 */
const CHECK_MS = 1_000;

/**
 * Serves a handler as a listener of `node:http` or `node:https`, whose timeouts and limits are
 * yours to set: see {@link serve}.
 *
 * Throws `ConfigError` (`invalid_option`) if `hosts` is not a list of names.
 *
 * @example
 * createServer(tls, nodeListener(createHandler(local()))).listen(443);
 */
export function nodeListener(
  handler: FetchHandler,
  { hosts }: ListenerOptions = {},
): RequestListener {
  return listener(handler, readHosts(hosts), () => undefined);
}

function listener(
  handler: FetchHandler,
  hosts: readonly string[] | undefined,
  onError: (error: unknown) => void,
): RequestListener {
  return (message, outgoing) => {
    const { socket, url: target = '/' } = message;
    const scheme = 'encrypted' in socket ? 'https' : 'http';
    exchange(handler, message, outgoing, {
      target,
      scheme,
      hosts,
      address: socket.remoteAddress,
    }).catch((error: unknown) => {
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(500).end();
      onError(error);
    });
  };
}

/**
 * Serves a handler on a port of its own, in plain HTTP, and withstands callers that are slow on
 * purpose: the time for headers and bodies, their size, and the number of connections are bounded.
 *
 * Throws `ConfigError` (`invalid_option`) at once if the options are wrong; rejects if the
 * port cannot be had.
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
  const hosts =
    readHosts(options.hosts) ?? (isLoopback(hostname) || hostname === '::1' ? LOOPBACK : undefined);

  const server = createServer(
    {
      headersTimeout,
      requestTimeout,
      connectionsCheckingInterval: Math.min(CHECK_MS, headersTimeout),
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
    },
    listener(handler, hosts, onError),
  );
  server.on('request', (_, outgoing) => boundAnswer(outgoing, requestTimeout));
  server.maxConnections = readWhole('maxConnections', options.maxConnections ?? 4_096, 1);
  server.maxRequestsPerSocket = MAX_REQUESTS_PER_SOCKET;
  return listening(server, port, hostname);
}

/**
 * Node waits without end for a caller that reads nothing, and would keep the connection and the
 * answer as long.
 */
function boundAnswer(outgoing: ServerResponse, ms: number): void {
  outgoing.once('prefinish', () => {
    // Its caller has gone in the middle of it.
    if (outgoing.destroyed) return;
    const late = setTimeout(() => outgoing.destroy(), ms);
    outgoing.once('close', () => clearTimeout(late));
  });
}

function listening(server: Server, port: number, hostname: string): Promise<Service> {
  const sockets = watchSockets(server);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, hostname, () => {
      server.off('error', reject);
      const address = server.address();
      const bound = typeof address === 'object' && address !== null ? address.port : port;
      const host = hostname.includes(':') ? `[${hostname}]` : hostname;
      resolve({
        url: `http://${host}:${bound}`,
        port: bound,
        close: ({ graceMs = 10_000 } = {}) => sockets.end(graceMs),
      });
    });
  });
}

function readWhole(option: string, value: unknown, least: number, most = 2 ** 31 - 1): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most)
    throw refuse(option, `must be a whole number from ${least} to ${most}.`);
  return value;
}

function readHosts(hosts: unknown): readonly string[] | undefined {
  if (hosts === undefined) return undefined;
  const isName = (name: unknown): name is string =>
    typeof name === 'string' && /^[^\s/@?#]+$/.test(name);
  if (!Array.isArray(hosts) || !hosts.every(isName))
    throw refuse('hosts', 'must be a list of names such as "pay.example.com".');
  return hosts.map((host) => host.toLowerCase());
}
