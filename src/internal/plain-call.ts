import { keepCopy, type KeptBody } from './kept-body.js';
import { isPlain } from './record.js';

export type Fetch = typeof globalThis.fetch;

export type Input = RequestInfo | URL;

export interface CallParts {
  readonly url: string;
  readonly method: string;
  hasHeader(name: string): boolean;
  readonly headers: Headers;
  readonly body: KeptBody | undefined;
  /** The other fields of the init, for a request that goes out again. */
  readonly passed: RequestInit;
  isRefused(): boolean;
  send(fetch: Fetch): Promise<Response>;
}

// fetch turns only these methods into upper case.
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'];
// A relative address could mean another URL later, because a page may change its own address.
const ABSOLUTE = /^https?:\/\//i;

/**
 * Takes apart the usual call: an address with a plain init, or without an init. Makes no `Request`
 * before a payment is asked for. Undefined for any other call.
 *
 * @param initCopy - The init as a copy that the caller cannot change, except for its body.
 */
export function takePlain(
  input: Input,
  init: RequestInit | undefined,
  initCopy: RequestInit,
): CallParts | undefined {
  const address = typeof input === 'string' ? input : input instanceof URL ? input.href : '';
  if (!ABSOLUTE.test(address) || (init !== undefined && !isPlain(init))) return undefined;
  const body = initCopy.body ?? undefined;
  const kept = body === undefined ? undefined : keepCopy(body);
  if (body !== undefined && kept === undefined) return undefined;
  const { hasHeader, headers } = holdHeaders(initCopy.headers);
  const method = initCopy.method ?? 'GET';
  const upper = method.toUpperCase();
  const { body: _body, method: _method, headers: _headers, ...passed } = initCopy;
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
        return new Request(address, { ...initCopy, signal: null }).bodyUsed;
      } catch {
        return true;
      }
    },
    send: (fetch) =>
      fetch(input, kept === undefined ? initCopy : { ...initCopy, body: kept.first() }),
  };
}

/** Makes `Headers` of a plain object only on demand: mostly, only its names are read. */
function holdHeaders(init: HeadersInit | undefined): {
  hasHeader(name: string): boolean;
  headers(): Headers;
} {
  if (init !== undefined && !isPlain(init)) {
    const copy = new Headers(init);
    return { hasHeader: (name) => copy.has(name), headers: () => copy };
  }
  const entries = Object.entries(init ?? {});
  let built: Headers | undefined;
  return {
    hasHeader: (wanted) => entries.some(([name]) => name.toLowerCase() === wanted),
    headers: () => (built ??= new Headers(entries)),
  };
}
