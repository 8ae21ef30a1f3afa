import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A pooler before a database, as PgBouncer is. At first each client keeps its own session. */
export interface Pooler {
  readonly address: string;
  /** From now on, the server connections serve all clients, each for one transaction at a time. */
  share(): void;
  close(): Promise<void>;
}

/** Which of the free server connections comes next: the one freed last, or the one freed first. */
export type Next = 'last' | 'first';

interface Server {
  readonly socket: Socket;
  /** The client that it serves. Without a client, what it says is dropped. */
  client: Client | undefined;
  /** Whether it runs no transaction. */
  isFree: boolean;
}

interface Client {
  readonly socket: Socket;
  server: Server | undefined;
  readonly waiting: Buffer[];
}

const GOODBYE = 'X'.charCodeAt(0);
const READY = 'Z'.charCodeAt(0);
const IDLE = 'I'.charCodeAt(0);

/**
 * Starts a pooler.
 *
 * @param size - The most server connections, once they are shared.
 */
export async function poolerOf(address: string, size: number, next: Next): Promise<Pooler> {
  const target = new URL(address);
  const servers = new Set<Server>();
  const clients = new Set<Client>();
  const free: Server[] = [];
  let isShared = false;

  const serve = (): void => {
    for (const client of clients) {
      if (client.waiting.length === 0) continue;
      if (client.server === undefined) {
        const server = next === 'last' ? free.pop() : free.shift();
        if (server === undefined) continue;
        server.client = client;
        client.server = server;
      }
      client.server.isFree = false;
      for (const frame of client.waiting.splice(0)) client.server.socket.write(frame);
    }
  };

  const release = (server: Server): void => {
    if (server.client !== undefined) server.client.server = undefined;
    server.client = undefined;
    if (servers.size <= size) return void free.push(server);
    servers.delete(server);
    server.socket.destroy();
  };

  const openServer = (client: Client): Server => {
    const socket = connect(Number(target.port), target.hostname);
    const server: Server = { socket, client, isFree: false };
    servers.add(server);
    eachFrame(
      socket,
      () => true,
      (frame) => {
        server.client?.socket.write(frame);
        if (frame[0] !== READY) return;
        server.isFree = frame[5] === IDLE;
        if (isShared && server.isFree) release(server);
        serve();
      },
    );
    socket.on('close', () => {
      servers.delete(server);
      if (free.includes(server)) free.splice(free.indexOf(server), 1);
      server.client?.socket.destroy();
    });
    return server;
  };

  const listener = createServer((socket) => {
    const client: Client = { socket, server: undefined, waiting: [] };
    clients.add(client);
    let isStarted = false;
    eachFrame(
      socket,
      () => isStarted,
      (frame) => {
        // A request for TLS, which libpq makes first.
        if (!isStarted && frame.length === 8) return void socket.write('N');
        // Ends the client, but not a server connection that is shared.
        if (isStarted && frame[0] === GOODBYE) return void socket.destroy();
        if (!isStarted) client.server = openServer(client);
        isStarted = true;
        client.waiting.push(frame);
        serve();
      },
    );
    socket.on('close', () => {
      clients.delete(client);
      client.server?.socket.destroy();
    });
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');

  const near = new URL(address);
  near.port = String((listener.address() as AddressInfo).port);
  return {
    address: near.href,
    share() {
      isShared = true;
      for (const server of [...servers]) if (server.isFree) release(server);
      serve();
    },
    async close() {
      for (const { socket } of [...clients, ...servers]) socket.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
}

/** Calls back for each message. All but a client's first have a letter before their length. */
function eachFrame(socket: Socket, hasLetter: () => boolean, take: (frame: Buffer) => void): void {
  let rest = Buffer.alloc(0);
  socket.setNoDelay();
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const letters = hasLetter() ? 1 : 0;
      if (rest.length < letters + 4) return;
      const length = letters + rest.readInt32BE(letters);
      if (rest.length < length) return;
      const frame = rest.subarray(0, length);
      rest = rest.subarray(length);
      take(frame);
    }
  });
}
