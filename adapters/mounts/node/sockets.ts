import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The connections of a server, each with the answers that it waits for. Node's own `close` waits
 * for every caller that holds a connection open, and, before Node 18.2, cannot be told otherwise.
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
    if (ending) isLast(outgoing);
  });

  return {
    end: (graceMs) =>
      new Promise((resolve) => {
        ending = true;
        const late = setTimeout(() => sockets.forEach((_, socket) => socket.destroy()), graceMs);
        server.close(() => {
          clearTimeout(late);
          resolve();
        });
        for (const [socket, waiting] of sockets) {
          if (waiting.size === 0) socket.destroy();
          waiting.forEach(isLast);
        }
      }),
  };
}

/** Tells the caller not to ask again over this connection, and Node to close it. */
function isLast(outgoing: ServerResponse): void {
  if (!outgoing.headersSent) outgoing.setHeader('connection', 'close');
}
