import type { IncomingMessage, ServerResponse } from 'node:http';
import { ReadableStream, type ReadableStreamDefaultController } from 'node:stream/web';
import { addressOf } from '../../http/address.js';
import { RequestRefusal } from '../../http/refusal.js';

/** What the frameworks on Node know better than the message itself. */
export interface Incoming {
  /** Path and query as the framework routed on them. */
  readonly target: string;
  /** As the connection has it, or a proxy says: taken for nothing but `http` or `https`. */
  readonly scheme: string;
  /** The caller's address, as far as the host of the service trusts it. */
  readonly address: string | undefined;
  /** Names that the service is called by, each with a port or for all ports; absent, any. */
  readonly hosts?: readonly string[] | undefined;
  /** The body, if it was read before. */
  readonly body?: BodyInit | undefined;
}

const SCHEMES: readonly string[] = ['http', 'https'];
const HOST = /^(?:[a-z0-9_.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?$/i;
// What fetch forbids in a Request. A handler hears of a method that no path serves, and says what
// its path knows (RFC 9110, 15.5.6).
const FORBIDDEN_METHODS: readonly string[] = ['CONNECT', 'TRACE', 'TRACK'];
const NO_METHOD = 'UNSERVED';

/**
 * Bytes of a body that is not wanted: enough for a caller that sends too much by mistake to read
 * the answer.
 */
const MAX_DISCARDED = 1_048_576;

const addresses = new WeakMap<Request, string>();

/**
 * The address of the caller of a request that came through a mount on Node, for `rateLimit`: the
 * other end of the connection, or what Express makes of it (`trust proxy`). Undefined for any other
 * request.
 *
 * @example
 * const limit = rateLimit({ perMinute: 60, keyOf: (request) => clientAddress(request) ?? '' });
 */
export function clientAddress(request: Request): string | undefined {
  return addresses.get(request);
}

/**
 * The `Request` of a message of Node; its signal aborts when the caller goes away unanswered.
 * Throws {@link RequestRefusal}.
 */
export function requestOf(
  message: IncomingMessage,
  outgoing: ServerResponse,
  incoming: Incoming,
): Request {
  const { method: asked = 'GET' } = message;
  const method = FORBIDDEN_METHODS.includes(asked) ? NO_METHOD : asked;
  const url = urlOf(message, incoming);
  const controller = new AbortController();
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) controller.abort();
  });
  // Before Node would: what it has begun to throw away is not counted.
  outgoing.once('prefinish', () => discardRest(message));
  const init: RequestInit & { duplex: 'half' } = {
    method,
    headers: headersOf(message, incoming),
    signal: controller.signal,
    duplex: 'half',
  };
  // Node's own type of the same stream, which is global from Node 18.
  if (method !== 'GET' && method !== 'HEAD')
    init.body =
      incoming.body ?? (bodyOf(message, outgoing) as globalThis.ReadableStream<Uint8Array>);
  const request = new Request(url, init);
  if (incoming.address !== undefined) addresses.set(request, incoming.address);
  return request;
}

/** A proxy may name the whole address, whose host is then the one that counts (RFC 9112, 3.2.2). */
function urlOf({ headers }: IncomingMessage, { target, scheme, hosts }: Incoming): URL {
  const absolute = /^https?:\/\/([^/?#]*)(.*)$/i.exec(target);
  const host = absolute?.[1] ?? headers.host ?? 'localhost';
  const path = absolute?.[2] ?? target;
  if (!SCHEMES.includes(scheme) || !HOST.test(host) || !/^(?:\/|\?|$)/.test(path))
    throw unreadable();
  if (
    hosts !== undefined &&
    ![host, host.replace(/:[0-9]+$/, '')].some((name) => hosts.includes(name.toLowerCase()))
  )
    throw new RequestRefusal(
      'not_found',
      'This service does not go by that host. Use one that it does, or have its operator add this one.',
    );
  try {
    return addressOf(`${scheme}://${host}${path}`);
  } catch (error) {
    if (error instanceof RequestRefusal) throw error;
    // A port or an address that fits the pattern, and is none.
    throw unreadable();
  }
}

function unreadable(): RequestRefusal {
  return new RequestRefusal(
    'malformed_request',
    'The address, the host or the scheme of the request cannot be read. Check them.',
  );
}

function headersOf({ rawHeaders }: IncomingMessage, { body }: Incoming): Headers {
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  if (body === undefined) return headers;
  // They describe what came, and not what a parser made of it.
  headers.delete('content-encoding');
  headers.delete('content-length');
  return headers;
}

/** Takes a chunk from the connection when it is asked for one, and keeps none. */
function bodyOf(message: IncomingMessage, outgoing: ServerResponse): ReadableStream<Uint8Array> {
  let discard: (() => void) | undefined;
  const start = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const take = (chunk: Uint8Array) => {
      message.pause();
      controller.enqueue(chunk);
    };
    const end = () => controller.close();
    discard = () => {
      message.off('data', take).off('end', end);
      discardRest(message);
    };
    message.on('data', take).once('end', end);
    message.once('error', (error) => controller.error(error));
    outgoing.once('finish', discard);
  };
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (discard === undefined) start(controller);
        message.resume();
      },
      cancel: () => discard?.(),
    },
    { highWaterMark: 0 },
  );
}

const discarded = new WeakSet<IncomingMessage>();

/**
 * Lets the rest of a body through to nowhere, so that the caller gets to read the answer; one that
 * is long is cut off with its connection, which Node would read to the end. How long it may take,
 * the server's requestTimeout says.
 */
function discardRest(message: IncomingMessage): void {
  if (discarded.has(message)) return;
  discarded.add(message);
  let left = MAX_DISCARDED;
  message.on('data', (chunk: Uint8Array) => {
    left -= chunk.length;
    if (left < 0) message.destroy();
  });
  // The first tells Node at once that the body has a reader.
  message.read(0);
  message.resume();
}
