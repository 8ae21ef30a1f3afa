import { followSignal } from './abort.js';
import { holdBody, isOneShot, keepBody, keepStream, type KeptBody } from './kept-body.js';
import { takePlain, type CallParts, type Fetch, type Input } from './plain-call.js';
import { isPlain } from './record.js';

// What fetch itself drops when a redirect leaves the origin.
const CREDENTIAL_HEADERS = ['authorization', 'cookie', 'host', 'proxy-authorization'] as const;

/**
 * One call of fetch, held so that it can be sent unpaid and then paid: the same method, headers and
 * bytes.
 */
export interface Call {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly signal: AbortSignal | undefined;
  /** The caller pays already: the answer is the caller's business. */
  readonly paysItself: boolean;
  /** The value of a header, its name in lower case. Without one, headers are not looked through. */
  header(name: string): string | undefined;
  /** Sends the call as the caller made it. */
  sendUnpaid(): Promise<Response>;
  /** Whether it is fetch that refuses the arguments, and not the network that fails. */
  isRefused(): boolean;
  /**
   * Sends it with a payment header to the URL that asked for payment, without following redirects.
   * Throws `body_not_replayable` before anything leaves.
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
  /** Drops what was kept of the body. */
  forget(): void;
}

/**
 * Takes a call apart without changing what plain fetch would do with it. Undefined if plain fetch
 * would refuse it, as far as that is seen at once.
 *
 * @param paymentHeaders - Names in lower case: a call with one of them pays by itself.
 */
export function captureCall(
  fetch: Fetch,
  input: Input,
  init: RequestInit | undefined,
  paymentHeaders: readonly string[],
): Call | undefined {
  let own: RequestInit;
  let parts: CallParts;
  try {
    own = holdInit(init);
    // It may go out more than once, and a payment may come before it.
    const held = input instanceof URL ? new URL(input) : input;
    parts = takePlain(held, init, own) ?? takeApart(held, holdBody(own));
  } catch {
    return undefined;
  }
  // A signal of null takes back the request's own.
  const signal =
    (own.signal === undefined && isRequest(input) ? input.signal : own.signal) ?? undefined;
  if (signal !== undefined && !isSignal(signal)) return undefined;
  const paysItself = paymentHeaders.some((name) => parts.hasHeader(name));
  // A runtime keeps more in its Requests than they show, such as the dispatcher of a proxy.
  const keepsMore = isNative(input);
  return {
    get url() {
      return parts.url;
    },
    method: parts.method,
    get headers() {
      return parts.headers;
    },
    signal,
    paysItself,
    header: (name) => (parts.hasHeader(name) ? (parts.headers.get(name) ?? undefined) : undefined),
    async sendUnpaid() {
      if (!paysItself && (signal === undefined || own.signal === undefined))
        return parts.send(fetch);
      const following =
        signal === undefined || own.signal === undefined ? undefined : followSignal(signal);
      try {
        const more = {
          ...(paysItself ? unfollowed(parts) : {}),
          ...(following === undefined ? {} : { signal: following.signal }),
        };
        const response = await parts.send(withInit(fetch, more));
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
      const paid = copyOf(parts.headers);
      if (url !== parts.url && new URL(url).origin !== new URL(parts.url).origin)
        for (const name of CREDENTIAL_HEADERS) paid.delete(name);
      paid.set(header.name, header.value);
      return fetch(keepsMore && url === parts.url.replace(/#.*/, '') ? input : url, {
        ...parts.passed,
        method: parts.method,
        headers: paid,
        ...(body === undefined ? {} : { body }),
        // A payment header must not travel to where a redirect points, nor an old answer come from
        // a cache.
        redirect: 'manual',
        cache: 'no-store',
        signal: paidSignal,
      });
    },
    replayable: () => parts.body?.bytes(signal) ?? Promise.resolve(undefined),
    forget: () => parts.body?.drop(),
  };
}

/**
 * The caller's own arguments go out wherever the body can be read twice; only a stream is split,
 * and a form, whose boundary is drawn anew each time, goes out as its bytes. Throws if the
 * arguments make no request.
 */
function takeApart(input: Input, own: RequestInit): CallParts {
  const given = own.body ?? undefined;
  if (given === undefined) {
    const request = makeRequest(
      isRequest(input) && input.body !== null ? input.clone() : input,
      own,
    );
    return partsOf(request, own, keepBody(request), (fetch) => fetch(input, own));
  }
  const request = makeRequest(input, own);
  if (isOneShot(given) && request.body !== null) {
    const [mine, theirs] = request.body.tee();
    return partsOf(request, own, keepStream(mine), (fetch) =>
      fetch(input, { ...own, body: theirs }),
    );
  }
  const body = keepBody(request);
  if (body === undefined || Object.prototype.toString.call(given) !== '[object FormData]')
    return partsOf(request, own, body, (fetch) => fetch(input, own));
  return partsOf(request, own, body, async (fetch) => {
    const bytes = await body.whole;
    return bytes === undefined
      ? fetch(input, own)
      : fetch(input, { ...own, headers: request.headers, body: bytes });
  });
}

function partsOf(
  request: Request,
  own: RequestInit,
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
    passed: passedOn(request, own),
    isRefused: () => false,
    send,
  };
}

/** Throws as fetch would. A request of another implementation of fetch is read by its members. */
function makeRequest(input: Input, own: RequestInit): Request {
  if (!isRequest(input) || isNative(input)) return new Request(input, { ...own, signal: null });
  return new Request(input.url, { ...readInit(input), ...own, signal: null });
}

function isRequest(input: unknown): input is Request {
  return typeof input === 'object' && input !== null && 'headers' in input && 'signal' in input;
}

// Typed as boolean: to the compiler there is but one class Request.
function isNative(input: Input): boolean {
  return input instanceof Request;
}

/** By shape: older runtimes take those of another implementation. */
function isSignal(signal: unknown): signal is AbortSignal {
  return (
    typeof signal === 'object' &&
    signal !== null &&
    'aborted' in signal &&
    'addEventListener' in signal
  );
}

/**
 * A payment header of the caller's must not travel to where a redirect points either. A Request
 * forgets some of its own if it is given more.
 */
function unfollowed({ passed }: CallParts): RequestInit {
  return { ...passed, redirect: passed.redirect === 'error' ? 'error' : 'manual' };
}

/**
 * All of them: if msw has patched the class, a copy lacks those that the runtime has set itself,
 * such as the type of a body.
 */
function copyOf(headers: Headers): Headers {
  const copy = new Headers(headers);
  headers.forEach((value, name) => {
    if (!copy.has(name)) copy.set(name, value);
  });
  return copy;
}

function withInit(fetch: Fetch, more: RequestInit): Fetch {
  return (input, init) => fetch(input, { ...readInit(init), ...more });
}

// fetch reads these by name, so also from a prototype: a Request may serve as init.
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
 * A plain copy of init, with what a runtime's own fetch takes beyond the standard (dispatcher,
 * next, cf ...). Throws if fetch takes no such init.
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

/** As {@link readInit}, with headers that its caller can change no more. */
function holdInit(init: RequestInit | null | undefined): RequestInit {
  const own = readInit(init);
  if (own.headers !== undefined) own.headers = copyOfHeaders(own.headers);
  return own;
}

/** In the form that they have, whose names are sent as they are spelt. */
function copyOfHeaders(headers: HeadersInit): HeadersInit {
  if (headers instanceof Headers) return new Headers(headers);
  return Symbol.iterator in headers
    ? Array.from(headers, (pair): [string, string] => [...pair])
    : { ...headers };
}

function passedOn(request: Request, own: RequestInit): RequestInit {
  const { credentials, referrer, referrerPolicy, integrity, keepalive, mode, redirect } = request;
  const { body: _body, method: _method, headers: _headers, ...rest } = own;
  // A page's navigation is no mode that a script may ask for.
  const sent = mode === 'navigate' ? {} : { mode };
  return {
    credentials,
    referrer,
    referrerPolicy,
    integrity,
    keepalive,
    redirect,
    ...sent,
    ...rest,
  };
}
