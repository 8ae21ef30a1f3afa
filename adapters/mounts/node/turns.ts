import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Open requests that one connection may have. A caller that pipelines sends some ten. */
const MAX_UNANSWERED = 16;

const unanswered = new WeakMap<Socket, number>();

/**
 * Waits until the earlier answers of the connection are sent. They go first in any case (RFC 9112,
 * 9.3.2), and answers made ahead would all be held in memory. Node reads all requests of a chunk at
 * once, so a connection with too many requests is closed. Resolves to false if no caller is left to
 * answer.
 */
export async function turnOf(
  { socket }: IncomingMessage,
  outgoing: ServerResponse,
): Promise<boolean> {
  // Middleware before the mount may have answered already.
  if (socket.destroyed || outgoing.destroyed) return false;
  const count = (unanswered.get(socket) ?? 0) + 1;
  unanswered.set(socket, count);
  outgoing.once('close', () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1));
  if (count > MAX_UNANSWERED) socket.destroy();
  // Node gives the socket to each answer in turn, and to no answer after the socket is closed.
  else if (outgoing.socket === null) await once(outgoing, 'socket');
  return !socket.destroyed;
}
