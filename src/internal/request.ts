import { followSignal } from './abort.js';
import {
  copyOfForm,
  holdBody,
  isOneShot,
  keepBody,
  keepStream,
  type KeptBody,
} from './kept-body.js';
import { uncached } from './own-request.js';
import { takePlain, type CallParts, type Fetch, type Input } from './plain-call.js';
import { isObject, isPlain } from './record.js';

// Headers that fetch itself drops when a redirect leaves the origin.
const CREDENTIAL_HEADERS = ['authorization', 'cookie', 'host', 'proxy-authorization'] as const;

/**
 * A call of fetch, held so that it can be sent unpaid and then paid: with the same method, headers
 * and bytes.
 */
export interface Call {
  readonly url: string;
  readonly method: string;
  readonly signal: AbortSignal | undefined;
  /** Whether the caller pays by itself: then the answer goes to the caller as it is. */
  readonly paysItself: boolean;
  header(name: string): string | undefined;
  /** Copies the headers for a request to a URL: without credentials if that is another origin. */
  headers(url: string): Headers;
  sendUnpaid(): Promise<Response>;
  /** Whether fetch refuses the arguments; otherwise a failure is the network's. */
  isRefused(): boolean;
  /**
   * Sends the call with a payment header to the URL that asked for payment, without following
   * redirects. Throws `body_not_replayable` before anything leaves.
   */
  sendPaid(
    url: string,
    header: { readonly name: string; readonly value: string },
    signal: AbortSignal,
  ): Promise<Response>;
  /**
   * Resolves when the body can be sent again; rejects with `ProtocolError` (`body_not_replayable`),
   * or the reason of the caller's signal.
   */
  replayable(): Promise<Uint8Array<ArrayBuffer> | undefined>;
  forget(): void;
}

/**
 * Takes a call apart without changing what plain fetch would do with it. Undefined if plain fetch
 * would refuse the call, as far as that shows at once.
 *
 * @param paymentHeaders - Names in lower case: a call with such a header pays by itself.
 */
export function captureCall(
  fetch: Fetch,
  input: Input,
  init: RequestInit | undefined,
  paymentHeaders: readonly string[],
): Call | undefined {
  let initCopy: RequestInit;
  let parts: CallParts;
  try {
    initCopy = holdInit(init);
    // Copy the URL, because the call may go out again after a payment.
    const held = input instanceof URL ? new URL(input) : input;
    parts = takePlain(held, init, initCopy) ?? takeApart(held, holdBody(initCopy));
  } catch {
    return undefined;
  }
  // A signal of null in the init removes the request's own signal.
  const signal =
    (initCopy.signal === undefined && isRequest(input) ? input.signal : initCopy.signal) ??
    undefined;
  if (signal !== undefined && !isSignal(signal)) return undefined;
  const paysItself = paymentHeaders.some((name) => parts.hasHeader(name));
  // A runtime's own Request keeps more than it shows, such as the dispatcher of a proxy.
  const keepsMore = isNative(input);
  const headers = (url: string): Headers => {
    const copy = copyOf(parts.headers);
    if (new URL(url).origin !== new URL(parts.url).origin)
      for (const name of CREDENTIAL_HEADERS) copy.delete(name);
    return copy;
  };
  return {
    get url() {
      return parts.url;
    },
    method: parts.method,
    signal,
    paysItself,
    header: (name) => (parts.hasHeader(name) ? (parts.headers.get(name) ?? undefined) : undefined),
    headers,
    async sendUnpaid() {
      const following = initCopy.signal ? followSignal(initCopy.signal) : undefined;
      if (!paysItself && following === undefined) return parts.send(fetch);
      try {
        const extra = {
          ...(paysItself && unfollowed(parts)),
          ...(following && { signal: following.signal }),
        };
        const response = await parts.send(withInit(fetch, extra));
        following?.stop(response);
        return response;
      } catch (error) {
        following?.end();
        throw error;
      }
    },
    isRefused: () => parts.isRefused(),
    async sendPaid(url, header, paidSignal) {
      const body = await parts.body?.again(signal);
      const paid = headers(url);
      paid.set(header.name, header.value);
      return fetch(keepsMore && url === parts.url.replace(/#.*/, '') ? input : url, {
        ...parts.passed,
        method: parts.method,
        headers: paid,
        ...(body === undefined ? {} : { body }),
        // A redirect must not carry the payment header to another address.
        redirect: 'manual',
        ...uncached(),
        signal: paidSignal,
      });
    },
    replayable: () => parts.body?.bytes(signal) ?? Promise.resolve(undefined),
    forget: () => parts.body?.drop(),
  };
}

/**
 * Takes apart any call that is not plain. The caller's own arguments go out if the body can be read
 * twice. A stream is split. A form goes out as bytes, because fetch draws a new boundary each time.
 * Throws if the arguments make no request.
 */
function takeApart(input: Input, init: RequestInit): CallParts {
  const initBody = init.body ?? undefined;
  if (initBody === undefined) {
    // Leave `input.body` unread: in Deno, a Request whose body was looked at goes out in chunks.
    const hasBody = isRequest(input) && input.method !== 'GET';
    const request = makeRequest(hasBody ? input.clone() : input, init);
    // An init with any field makes `new Request` forget the referrer of a Request.
    const isWhole = isRequest(input) && Object.values(init).every((field) => field === undefined);
    const { referrer, referrerPolicy } = isWhole ? input : request;
    const passed = { ...init, referrer, referrerPolicy };
    return partsOf(request, passed, keepBody(request), (fetch) => fetch(input, init));
  }
  // A stream that only another fetch can read: the runtime would send its name with the payment.
  if (typeof initBody === 'object' && 'pipe' in initBody && !isOneShot(initBody))
    throw new TypeError();
  const form = copyOfForm(initBody);
  const request = makeRequest(input, form ? { ...init, body: form } : init);
  if (isOneShot(initBody) && request.body !== null) {
    const [kept, body] = request.body.tee();
    return partsOf(request, init, keepStream(kept), (fetch) => fetch(input, { ...init, body }));
  }
  const body = keepBody(request);
  return partsOf(request, init, body, async (fetch) => {
    const bytes = form && (await body?.whole);
    return fetch(input, bytes ? { ...init, headers: request.headers, body: bytes } : init);
  });
}

function partsOf(
  request: Request,
  init: RequestInit,
  body: KeptBody | undefined,
  send: CallParts['send'],
): CallParts {
  const headers = copyOf(request.headers);
  return {
    url: request.url,
    method: request.method,
    hasHeader: (name) => headers.has(name),
    headers,
    body,
    passed: passedOn(request, init),
    isRefused: () => false,
    send,
  };
}

/** Throws as fetch would. A Request of another implementation of fetch is read by its fields. */
function makeRequest(input: Input, init: RequestInit): Request {
  if (!isRequest(input) || isNative(input)) return new Request(input, { ...init, signal: null });
  return new Request(input.url, { ...readInit(input), ...init, signal: null });
}

function isRequest(input: unknown): input is Request {
  return isObject(input) && 'headers' in input && 'signal' in input;
}

// Typed as boolean, because the compiler knows only one class Request.
function isNative(input: Input): boolean {
  return input instanceof Request;
}

/** Checks the shape only, because older runtimes take signals of another implementation. */
function isSignal(signal: unknown): signal is AbortSignal {
  return isObject(signal) && 'aborted' in signal && 'addEventListener' in signal;
}

/**
 * Returns an init that follows no redirect, because it would carry the caller's payment header to
 * another address. Repeats all fields: a Request loses some of its own if an init sets others.
 */
function unfollowed({ passed }: CallParts): RequestInit {
  return { ...passed, redirect: passed.redirect === 'error' ? 'error' : 'manual' };
}

/**
 * Copies all headers. If msw has patched the class, a plain copy lacks headers that the runtime set
 * itself, such as the type of a body.
 */
function copyOf(headers: Headers): Headers {
  const copy = new Headers(headers);
  headers.forEach((value, name) => {
    if (!copy.has(name)) copy.set(name, value);
  });
  return copy;
}

function withInit(fetch: Fetch, extra: RequestInit): Fetch {
  return (input, init) => fetch(input, { ...readInit(init), ...extra });
}

// fetch reads these fields by name, also from a prototype, because a Request may serve as init.
const INIT_MEMBERS = [
  'method',
  'headers',
  'body',
  'duplex',
  'mode',
  'credentials',
  'cache',
  'redirect',
  'referrer',
  'referrerPolicy',
  'integrity',
  'keepalive',
  'signal',
];

/**
 * Returns a plain copy of an init, with fields that a runtime's fetch takes beyond the standard
 * (dispatcher, next, cf ...). Throws if fetch takes no such init.
 */
function readInit(init: object | null | undefined): RequestInit {
  const copy: Record<string, unknown> = { ...init };
  if (init === undefined || init === null || isPlain(init)) return copy;
  for (const name of INIT_MEMBERS) {
    const value: unknown = Reflect.get(init, name);
    if (value !== undefined) copy[name] = value;
  }
  return copy;
}

/** As {@link readInit}, with headers that the caller cannot change. */
function holdInit(init: RequestInit | null | undefined): RequestInit {
  const copy = readInit(init);
  if (copy.headers !== undefined) copy.headers = copyOfHeaders(copy.headers);
  return copy;
}

/** Copies headers in their own form, so that names go out as they are spelt. */
function copyOfHeaders(headers: HeadersInit): HeadersInit {
  if (headers instanceof Headers) return new Headers(headers);
  return Symbol.iterator in headers
    ? Array.from(headers, (pair): [string, string] => [...pair])
    : { ...headers };
}

function passedOn(request: Request, init: RequestInit): RequestInit {
  const { credentials, referrer, referrerPolicy, integrity, keepalive, mode, redirect } = request;
  const { body: _body, method: _method, headers: _headers, ...otherFields } = init;
  // A script may not ask for the mode of a page's navigation.
  const sent = mode === 'navigate' ? {} : { mode };
  return {
    credentials,
    referrer,
    referrerPolicy,
    integrity,
    keepalive,
    redirect,
    ...sent,
    ...otherFields,
  };
}
