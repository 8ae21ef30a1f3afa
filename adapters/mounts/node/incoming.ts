import type { IncomingMessage, ServerResponse } from 'node:http';
import { ReadableStream, type ReadableStreamDefaultController } from 'node:stream/web';
import { addressOf, unreadableAddress } from '../../http/address.js';
import { RequestRefusal } from '../../http/refusal.js';
import { HOST } from '../host-header.js';

/** Facts about a request that its framework knows better than the message of Node. */
export interface Incoming {
  /** Path and query as the framework routed on them. */
  readonly target: string;
  /** Scheme of the connection, or as a proxy says; refused unless it is `http` or `https`. */
  readonly scheme: string;
  /** The caller's address, as far as the host of the service trusts it. */
  readonly address: string | undefined;
  /** Names of the service, each with a port or for all ports; absent, any name. */
  readonly hosts?: readonly string[] | undefined;
  /** The body, if a parser has read it already. */
  readonly body?: BodyInit | undefined;
}

const SCHEMES: readonly string[] = ['http', 'https'];
// Methods that fetch forbids in a Request. The handler gets a method that no path serves instead,
// and answers with the methods of the path (RFC 9110, 15.5.6).
const FORBIDDEN_METHODS: readonly string[] = ['CONNECT', 'TRACE', 'TRACK'];
const NO_METHOD = 'UNSERVED';

/**
 * Bytes of an unwanted body that are read and dropped, so that a caller that sends too much by
 * mistake can read the answer.
 */
const MAX_DISCARDED = 1_048_576;

const addresses = new WeakMap<Request, string>();

/**
 * Returns the caller's address of a request that came through a mount on Node, for `rateLimit`. It
 * is the other end of the connection, or the address that Express derives (`trust proxy`).
 * Undefined for any other request.
 *
 * @example
 * const limit = rateLimit({ perMinute: 60, keyOf: (request) => clientAddress(request) ?? '' });
 */
export function clientAddress(request: Request): string | undefined {
  return addresses.get(request);
}

/**
 * Creates the `Request` of a message of Node. Its signal aborts if the caller leaves before the
 * answer. Throws {@link RequestRefusal} if the address cannot be read or the host is refused.
 */
export function requestOf(
  message: IncomingMessage,
  outgoing: ServerResponse,
  incoming: Incoming,
): Request {
  const { method: sentMethod = 'GET' } = message;
  const method = FORBIDDEN_METHODS.includes(sentMethod) ? NO_METHOD : sentMethod;
  const url = urlOf(message, incoming);
  const controller = new AbortController();
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) controller.abort();
  });
  // Discard before Node does, because bytes that Node discards are not counted.
  outgoing.once('prefinish', () => discardRest(message));
  const init: RequestInit & { duplex: 'half' } = {
    method,
    headers: headersOf(message, incoming),
    signal: controller.signal,
    duplex: 'half',
  };
  // The cast joins two types of the same stream: Node's own, and the global from Node 18.
  if (method !== 'GET' && method !== 'HEAD')
    init.body =
      incoming.body ?? (bodyOf(message, outgoing) as globalThis.ReadableStream<Uint8Array>);
  const request = new Request(url, init);
  if (incoming.address !== undefined) addresses.set(request, incoming.address);
  return request;
}

/**
 * Returns the address of a request. If a proxy sends a whole address as the target, the host of
 * this address counts (RFC 9112, 3.2.2).
 */
function urlOf({ headers, rawHeaders }: IncomingMessage, { target, scheme, hosts }: Incoming): URL {
  // Node takes the first of several hosts, and a proxy may have judged the last (RFC 9112, 3.2).
  const isHost = (name: string, at: number) => at % 2 === 0 && /^host$/i.test(name);
  if (rawHeaders.filter(isHost).length > 1) throw unreadableAddress();
  const absolute = /^https?:\/\/([^/?#]*)(.*)$/i.exec(target);
  // HTTP/2 names the host in a pseudo-header (RFC 9113, 8.3.1).
  const { host: named = 'localhost', [':authority']: authority = named } = headers;
  const host = absolute?.[1] ?? String(authority);
  const path = absolute?.[2] ?? target;
  if (!SCHEMES.includes(scheme) || !HOST.test(host) || !/^(?:\/|\?|$)/.test(path))
    throw unreadableAddress();
  if (
    hosts !== undefined &&
    ![host, host.replace(/:[0-9]+$/, '')].some((name) => hosts.includes(name.toLowerCase()))
  )
    throw new RequestRefusal(
      'not_found',
      'This service does not go by that host. Use one that it does, or have its operator add this one.',
    );
  return addressOf(`${scheme}://${host}${path}`);
}

function headersOf({ rawHeaders }: IncomingMessage, { body }: Incoming): Headers {
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    // Node lists the pseudo-headers of HTTP/2 too, and a Request has other places for them.
    if (!name.startsWith(':')) headers.append(name, rawHeaders[at + 1] ?? '');
  }
  if (body === undefined) return headers;
  // These headers describe the body as it came, not the parsed body.
  headers.delete('content-encoding');
  headers.delete('content-length');
  return headers;
}

/** Returns the body that a parser before the mount has read; undefined if the body is unread. */
export function bodyBefore(message: IncomingMessage, parsed: unknown): BodyInit | undefined {
  // A parser that found an empty body has read it to its end, without any data.
  if (!message.readableDidRead) return message.readableEnded ? '' : undefined;
  if (typeof parsed === 'string') return parsed;
  if (parsed instanceof Uint8Array) return new Uint8Array(parsed);
  // Some middleware has read the body and left no value.
  if (parsed === undefined) return '';
  try {
    return JSON.stringify(parsed);
  } catch {
    // The value is nested deeper than the stack; the handler refuses such a body by its depth.
    return '['.repeat(1_000);
  }
}

/** Returns a stream that takes a chunk from the connection only when it is read, and keeps none. */
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
 * Reads and drops the rest of a body, so that the caller can read the answer. If the rest is long,
 * closes the connection, because Node would read it to the end. The server's `requestTimeout` limits
 * the time.
 */
function discardRest(message: IncomingMessage): void {
  if (discarded.has(message)) return;
  discarded.add(message);
  let left = MAX_DISCARDED;
  message.on('data', (chunk: Uint8Array) => {
    left -= chunk.length;
    if (left < 0) message.destroy();
  });
  // `read` tells Node at once that the body has a reader.
  message.read(0);
  message.resume();
}
