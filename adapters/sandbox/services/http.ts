import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { closeServer, newServer } from '../node/server.js';
import type { Fault } from '../types.js';
import type { FaultBoard } from './faults.js';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** An HTTP server on the loopback that can be stopped and started again on the same port. */
export interface Listener {
  readonly url: string;
  /** Refuses new connections and cuts open connections. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/**
 * Serves `handler` on 127.0.0.1 with the faults of `board`; port 0 picks a free port. Pages of any
 * origin may read the answers, injected answers too.
 */
export async function listen(port: number, board: FaultBoard, handler: Handler): Promise<Listener> {
  const timers = new Set<NodeJS.Timeout>();
  const front: Handler = (request, response) => {
    const path = pathOf(request);
    response.setHeader('access-control-allow-origin', '*');
    if (request.method === 'OPTIONS') return handler(request, response);
    const { fault, latency } = board.admit(request.method ?? 'GET', path);
    const proceed = (): void => {
      if (!response.destroyed) handleWithFault(fault, request, response, handler);
    };
    if (latency <= 0) return proceed();
    const timer = setTimeout(() => {
      timers.delete(timer);
      proceed();
    }, latency);
    timers.add(timer);
  };

  let server = await bind(front, port);
  // A bound TCP server's address is never a pipe's name or null.
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${bound}`,
    async stop() {
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
      if (server.listening) await closeServer(server);
    },
    async start() {
      if (!server.listening) server = await bind(front, bound);
    },
  };
}

/** Returns the path of a request, without its query. */
export function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?', 1)[0] ?? '/';
}

/** Reads the body of a request as JSON; resolves with undefined if it is not JSON. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const body = await text(request);
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Answers a CORS preflight with permission. */
export function sendPreflight(request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(204, {
    'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
    'access-control-allow-headers': request.headers['access-control-request-headers'] ?? '*',
  });
  response.end();
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

function handleWithFault(
  fault: Fault | undefined,
  request: IncomingMessage,
  response: ServerResponse,
  handler: Handler,
): void {
  switch (fault?.kind) {
    case undefined:
      return handler(request, response);
    case 'hang':
      request.resume();
      return;
    case 'dropBefore':
      request.socket.destroy();
      return;
    case 'dropAfter':
      loseAnswer(response);
      return handler(request, response);
    case 'status':
      request.resume();
      response.writeHead(fault.status ?? 500, {
        'content-type': 'application/json',
        ...fault.headers,
      });
      response.end(fault.body ?? JSON.stringify({ error: 'injected fault' }));
      return;
    case 'garbage':
      request.resume();
      response.writeHead(200, { 'content-type': 'application/json', ...fault.headers });
      response.end(fault.body ?? '<html>not json');
  }
}

/** Makes a response cut the connection where the handler would send its answer. */
function loseAnswer(response: ServerResponse): void {
  response.write = () => true;
  response.end = () => {
    response.socket?.destroy();
    return response;
  };
}

function bind(handler: Handler, port: number): Promise<Server> {
  const server = newServer(handler);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
