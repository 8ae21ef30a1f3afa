import { keepCopy, type KeptBody } from './kept-body.js';
import { isPlain } from './record.js';

export type Fetch = typeof globalThis.fetch;

export type Input = RequestInfo | URL;

/** A call taken apart: what it asks for, its body, and how it goes out unpaid. */
export interface CallParts {
  readonly url: string;
  readonly method: string;
  hasHeader(name: string): boolean;
  readonly headers: Headers;
  readonly body: KeptBody | undefined;
  /** What else a request has that goes out again. */
  readonly passed: RequestInit;
  isRefused(): boolean;
  send(fetch: Fetch): Promise<Response>;
}

// Of others the case counts.
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'];
// Against the address of a page, another may be meant later.
const ABSOLUTE = /^https?:\/\//i;

/**
 * Most calls: an address, and a plain init or none. Nothing is made of them before a payment is
 * asked for. Undefined for all others.
 *
 * @param own - The init as it was, which its caller can change no more, but for its body.
 */
export function takePlain(
  input: Input,
  init: RequestInit | undefined,
  own: RequestInit,
): CallParts | undefined {
  const address = typeof input === 'string' ? input : input instanceof URL ? input.href : '';
  if (!ABSOLUTE.test(address) || (init !== undefined && !isPlain(init))) return undefined;
  const body = own.body ?? undefined;
  const kept = body === undefined ? undefined : keepCopy(body);
  if (body !== undefined && kept === undefined) return undefined;
  const { hasHeader, headers } = holdHeaders(own.headers);
  const method = own.method ?? 'GET';
  const upper = method.toUpperCase();
  const { body: _body, method: _method, headers: _headers, ...passed } = own;
  let href: string | undefined;
  return {
    get url() {
      return (href ??= new URL(address).href);
    },
    method: METHODS.includes(upper) ? upper : method,
    hasHeader,
    get headers() {
      return headers();
    },
    body: kept,
    passed,
    isRefused() {
      try {
        return new Request(address, { ...own, signal: null }).bodyUsed;
      } catch {
        return true;
      }
    },
    send: (fetch) => fetch(input, kept === undefined ? own : { ...own, body: kept.first() }),
  };
}

/** Those in an object are held as they are: most have to be looked through for a name alone. */
function holdHeaders(given: HeadersInit | undefined): {
  hasHeader(name: string): boolean;
  headers(): Headers;
} {
  if (given !== undefined && !isPlain(given)) {
    const copy = new Headers(given);
    return { hasHeader: (name) => copy.has(name), headers: () => copy };
  }
  const entries = Object.entries(given ?? {});
  let made: Headers | undefined;
  return {
    hasHeader: (wanted) => entries.some(([name]) => name.toLowerCase() === wanted),
    headers: () => (made ??= new Headers(entries)),
  };
}
