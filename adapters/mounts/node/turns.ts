import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Requests that one connection may have sent ahead of their answers. A caller that pipelines at all
 * sends some ten.
 */
const MAX_UNANSWERED = 16;

const unanswered = new WeakMap<Socket, number>();

/**
 * Waits until the answers before this one on its connection are taken: they go first in any case
 * (RFC 9112, 9.3.2), and answers made ahead would all be held in memory. Node reads as many
 * requests as there are in a chunk; a connection with too many is closed. False if no caller is
 * left to answer.
 */
export async function turnOf(
  { socket }: IncomingMessage,
  outgoing: ServerResponse,
): Promise<boolean> {
  // What stands before a mount may have answered.
  if (socket.destroyed || outgoing.destroyed) return false;
  const count = (unanswered.get(socket) ?? 0) + 1;
  unanswered.set(socket, count);
  outgoing.once('close', () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1));
  if (count > MAX_UNANSWERED) socket.destroy();
  // Node hands the connection to each answer in turn, and to none once it is gone.
  else if (outgoing.socket === null) await once(outgoing, 'socket');
  return !socket.destroyed;
}
