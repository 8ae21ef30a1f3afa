import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { systemRuntime } from '../../../src/internal/runtime.js';
import { PROBLEM_TYPE } from '../../../src/wire/problem.js';
import { chunksOf } from '../../chunks.js';
import { ALWAYS, requestIdOf } from '../../http/headers.js';
import { RequestRefusal } from '../../http/refusal.js';
import type { FetchHandler } from '../fetch-handler.js';
import { requestOf, type Incoming } from './incoming.js';
import { turnOf } from './turns.js';

/**
 * Answers a request of Node with a handler, after the earlier requests of its connection. Rejects
 * if the handler does, with nothing answered.
 */
export async function exchange(
  handler: FetchHandler,
  message: IncomingMessage,
  outgoing: ServerResponse,
  incoming: Incoming,
): Promise<void> {
  const response = await answerTo(handler, message, outgoing, incoming);
  if (response !== undefined) await send(response, outgoing);
}

/**
 * Returns the answer of a handler, for frameworks that send it themselves: see {@link exchange}.
 * Undefined if no caller waits for it.
 */
export async function answerTo(
  handler: FetchHandler,
  message: IncomingMessage,
  outgoing: ServerResponse,
  incoming: Incoming,
): Promise<Response | undefined> {
  if (!(await turnOf(message, outgoing))) return undefined;
  let request: Request;
  try {
    request = requestOf(message, outgoing, incoming);
  } catch (error) {
    return refused(error, message);
  }
  return handler(request);
}

/** Returns the answer to a request that no handler can take, in the form of a handler's answers. */
function refused(error: unknown, { headers }: IncomingMessage): Response {
  if (!(error instanceof RequestRefusal)) throw error;
  const { problem } = error;
  const { 'x-request-id': id = '' } = headers;
  const requestId = requestIdOf(new Headers({ 'x-request-id': String(id) }), systemRuntime);
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: { ...ALWAYS, 'x-request-id': requestId, 'content-type': PROBLEM_TYPE },
  });
}

const EVENTS = /^text\/event-stream\b/;

async function send(response: Response, outgoing: ServerResponse): Promise<void> {
  const { body: stream } = response;
  const isEndless = EVENTS.test(response.headers.get('content-type') ?? '');
  const body = stream === null || isEndless ? undefined : Buffer.from(await response.arrayBuffer());
  if (outgoing.destroyed) return isEndless ? stream?.cancel() : undefined;
  const headers = new Map<string, string | string[]>();
  for (const [name, value] of response.headers) {
    const before = headers.get(name);
    // Only the header set-cookie comes more than once.
    headers.set(name, before === undefined ? value : [before, value].flat());
  }
  if (body !== undefined) headers.set('content-length', String(body.length));
  // After an endless answer the connection is of no use, and would hold up a service that closes.
  if (isEndless) outgoing.shouldKeepAlive = false;
  outgoing.writeHead(response.status, Object.fromEntries(headers));
  if (stream === null || !isEndless) return void outgoing.end(body);
  outgoing.flushHeaders();
  // The pipeline fails when its reader leaves; the request's signal tells the handler.
  await pipeline(chunksOf(stream), outgoing).catch(() => undefined);
}
