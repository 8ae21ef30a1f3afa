import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The connections of a server, by whether they wait for an answer. Node's own `close` waits for whoever holds a connection open, and, before
 * Node 18.2, cannot be told otherwise.
 */
export function watchSockets(server: Server): { end(graceMs: number): Promise<void> } {
  const waiting = new Map<Socket, number>();
  let ending = false;

  const count = (socket: Socket, change: 1 | -1) => {
    const answers = waiting.get(socket);
    // Its connection may be gone by then.
    if (answers === undefined) return;
    waiting.set(socket, answers + change);
    if (ending && answers + change === 0) socket.destroy();
  };
  server.on('connection', (socket) => {
    waiting.set(socket, 0);
    socket.once('close', () => waiting.delete(socket));
  });
  server.on('request', ({ socket }, outgoing) => {
    count(socket, 1);
    outgoing.once('close', () => count(socket, -1));
  });

  return {
    end: (graceMs) =>
      new Promise((resolve) => {
        ending = true;
        const late = setTimeout(() => waiting.forEach((_, socket) => socket.destroy()), graceMs);
        server.close(() => {
          clearTimeout(late);
          resolve();
        });
        for (const [socket, answers] of waiting) if (answers === 0) socket.destroy();
      }),
  };
}
