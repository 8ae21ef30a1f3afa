import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Tracks the connections of a server, each with its open answers, so that `end` can close them.
 * Node's own `close` waits for every caller that holds a connection open; before Node 18.2 there is
 * no way to close idle connections.
 */
export function watchSockets(server: Server): { end(graceMs: number): Promise<void> } {
  const sockets = new Map<Socket, Set<ServerResponse>>();
  let ending = false;

  server.on('connection', (socket) => {
    sockets.set(socket, new Set());
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('request', ({ socket }, outgoing) => {
    const waiting = sockets.get(socket);
    waiting?.add(outgoing);
    outgoing.once('close', () => waiting?.delete(outgoing));
    if (ending) markLast(outgoing);
  });

  return {
    end: (graceMs) =>
      new Promise((resolve) => {
        ending = true;
        const timer = setTimeout(() => sockets.forEach((_, socket) => socket.destroy()), graceMs);
        server.close(() => {
          clearTimeout(timer);
          resolve();
        });
        for (const [socket, waiting] of sockets) {
          if (waiting.size === 0) socket.destroy();
          waiting.forEach(markLast);
        }
      }),
  };
}

/** Tells the caller to send no more requests on this connection, and Node to close it. */
function markLast(outgoing: ServerResponse): void {
  if (!outgoing.headersSent) outgoing.setHeader('connection', 'close');
}
