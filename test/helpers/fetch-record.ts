import { createHash } from 'node:crypto';
import type {
  IncomingHttpHeaders,
  IncomingMessage,
  RequestListener,
  ServerResponse,
} from 'node:http';

/** A request as a server received it. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly sha256: string;
}

export const PAYMENT_HEADERS = ['payment-signature', 'x-payment'];

/** Reads each request to its end and records it before it calls `handle`. */
export function recording(
  seen: Seen[],
  handle: (request: IncomingMessage, response: ServerResponse, body: Buffer) => void,
): RequestListener {
  return (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      seen.push(readSeen(request, body));
      handle(request, response, body);
    });
  };
}

/** Returns the payment header of a request, verbatim. */
export function paymentOf(seen: Seen): string | undefined {
  return PAYMENT_HEADERS.map((name) => seen.headers[name]).find((value) => value !== undefined);
}

/** Returns true if a header of the request is, or is named after, a payment. */
export function holdsPayment(seen: Seen): boolean {
  return (
    paymentOf(seen) !== undefined ||
    Object.keys(seen.headers).some((name) => name.includes('payment'))
  );
}

/**
 * Returns a request without the parts that differ between two servers: the host, and the random
 * boundary of a form. It also leaves out the headers in `except`.
 */
export function comparable(
  { method, path, headers, body }: Seen,
  except: readonly string[] = [],
): object {
  // Read the boundary from the body, because the caller may set another content type.
  const boundary = /^--(\S{20,})\r\n/.exec(body.toString('latin1', 0, 100))?.[1];
  const masked = (text: string): string =>
    boundary === undefined ? text : text.replaceAll(boundary, 'BOUNDARY');
  const kept = Object.entries(headers).filter(([name]) => ![...except, 'host'].includes(name));
  return {
    method,
    path,
    headers: Object.fromEntries(kept.map(([name, value]) => [name, masked(value)])),
    sha256: hashOf(Buffer.from(masked(body.toString('latin1')), 'latin1')),
  };
}

/**
 * Does the same as {@link comparable} for a paid request. It also leaves out the payment headers
 * and `no-cache` headers.
 */
export function comparablePaid(seen: Seen, except: readonly string[] = []): object {
  const orders = ['cache-control', 'pragma'].filter((name) => seen.headers[name] === 'no-cache');
  return comparable(seen, [...except, ...PAYMENT_HEADERS, ...orders]);
}

export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function readSeen(request: IncomingMessage, body: Buffer): Seen {
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers: flat(request.headers),
    body,
    sha256: hashOf(body),
  };
}

function flat(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
}
