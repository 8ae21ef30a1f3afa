import {
  createServer,
  request as send,
  type IncomingHttpHeaders,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A request that came by. */
export interface Passing {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What keeps passing requests from being answered, for as long as a test likes. */
export interface Held {
  /** How many requests it has held so far. */
  readonly count: number;
  /** Resolves once it holds one. */
  readonly asked: Promise<void>;
  /** Lets all of them go on, those of callers long gone too, and holds no more. */
  release(): Promise<void>;
}

/** Stands before a service on the loopback and can keep its callers waiting. */
export interface Relay {
  readonly url: string;
  /**
   * Keeps requests waiting: before they reach the service, or, with `body`, in the middle of the
   * answer, once its headers have arrived.
   */
  hold(which: (request: Passing) => boolean, part?: 'request' | 'body'): Held;
  /** Lets go of all. */
  free(): Promise<void>;
  close(): Promise<void>;
}

interface Gate {
  readonly which: (request: Passing) => boolean;
  readonly part: 'request' | 'body';
  enter(): Promise<void>;
  release(): Promise<void>;
}

export async function startRelay(target: string): Promise<Relay> {
  const gates = new Set<Gate>();
  const sockets = new Set<Socket>();
  const { hostname, port: targetPort } = new URL(target);
  const gateFor = (request: Passing, part: Gate['part']) =>
    [...gates].find((gate) => gate.part === part && gate.which(request));

  const pass = async (method: string, request: Passing, response: ServerResponse) => {
    await gateFor(request, 'request')?.enter();
    const { path, headers, body } = request;
    const onward = send({ hostname, port: targetPort, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      response.flushHeaders();
      const gate = gateFor(request, 'body');
      if (gate === undefined) answer.pipe(response);
      else void gate.enter().then(() => answer.pipe(response));
    });
    // A service that cuts the connection cuts it here too.
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
    hold(which, part = 'request') {
      let open = (): void => undefined;
      let tell = (): void => undefined;
      const opened = new Promise<void>((resolve) => (open = resolve));
      const asked = new Promise<void>((resolve) => (tell = resolve));
      let count = 0;
      const gate: Gate = {
        which,
        part,
        enter: () => {
          count += 1;
          tell();
          return opened;
        },
        release: async () => {
          gates.delete(gate);
          open();
          // One turn of the loop: what was held is on its way when this returns.
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
