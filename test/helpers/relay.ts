import {
  createServer,
  request as send,
  type IncomingHttpHeaders,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A request that passes the relay. */
export interface Passing {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A hold on passing requests: they wait until the test releases them. */
export interface Held {
  /** Number of requests that were held so far. */
  readonly count: number;
  /** Resolves when a request is held. */
  readonly asked: Promise<void>;
  /** Lets all held requests go on, also if their callers disconnected, and holds no more. */
  release(): Promise<void>;
}

/** A proxy before a service on the loopback that can make callers wait. */
export interface Relay {
  readonly url: string;
  /** Holds requests before they reach the service. */
  hold(which: (request: Passing) => boolean): Held;
  /** Releases all holds. */
  free(): Promise<void>;
  close(): Promise<void>;
}

interface Gate {
  readonly which: (request: Passing) => boolean;
  enter(): Promise<void>;
  release(): Promise<void>;
}

export async function startRelay(target: string): Promise<Relay> {
  const gates = new Set<Gate>();
  const sockets = new Set<Socket>();
  const { hostname, port: targetPort } = new URL(target);
  const gateFor = (request: Passing) => [...gates].find((gate) => gate.which(request));

  const pass = async (method: string, request: Passing, response: ServerResponse) => {
    await gateFor(request)?.enter();
    const { path, headers, body } = request;
    const onward = send({ hostname, port: targetPort, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    // If the service cuts the connection, cut the caller's connection too.
    onward.on('error', () => response.destroy());
    onward.end(body);
  };

  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString('latin1')));
    request.on(
      'end',
      () =>
        void pass(
          request.method ?? 'GET',
          { path: request.url ?? '/', headers: request.headers, body },
          response,
        ),
    );
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A bound TCP server's address is never a pipe's name or null.
  const { port } = server.address() as AddressInfo;

  const free = async () => {
    for (const gate of gates) await gate.release();
  };
  return {
    url: `http://127.0.0.1:${port}`,
    hold(which) {
      let open = (): void => undefined;
      let tell = (): void => undefined;
      const opened = new Promise<void>((resolve) => (open = resolve));
      const asked = new Promise<void>((resolve) => (tell = resolve));
      let count = 0;
      const gate: Gate = {
        which,
        enter: () => {
          count += 1;
          tell();
          return opened;
        },
        release: async () => {
          gates.delete(gate);
          open();
          // After a turn of the event loop, the held requests are on their way.
          await new Promise((resolve) => setImmediate(resolve));
        },
      };
      gates.add(gate);
      return {
        asked,
        get count() {
          return count;
        },
        release: () => gate.release(),
      };
    },
    free,
    close: async () => {
      await free();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      });
    },
  };
}
