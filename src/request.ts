import { ProtocolError } from './errors.js';

/** The largest request body that is kept to be sent again. */
export const BODY_LIMIT_BYTES = 1024 * 1024;

const PAYMENT_HEADERS = ['payment-signature', 'x-payment'] as const;
// What fetch itself drops when a redirect leaves the origin.
const CREDENTIAL_HEADERS = ['authorization', 'cookie', 'proxy-authorization'] as const;

/** One call of fetch, held so that it can be sent unpaid and then paid: the same method, headers and bytes. */
export interface Call {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly signal: AbortSignal | undefined;
  /** The caller pays already: the answer is the caller's business. */
  readonly paysItself: boolean;
  /** Sends the call as the caller made it. */
  sendUnpaid(): Promise<Response>;
  /** Sends it with a payment header to the URL that asked for payment, without following redirects. Throws `body_not_replayable` before anything leaves. */
  sendPaid(url: string, header: { readonly name: string; readonly value: string }, signal: AbortSignal): Promise<Response>;
  /** Resolves when the body can be sent again; rejects with `ProtocolError` (`body_not_replayable`). */
  replayable(): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Drops what was kept of the body. */
  forget(): void;
}

/** Takes a call apart without changing what plain fetch would do with it. Undefined where plain fetch would refuse it. */
export function captureCall(fetch: typeof globalThis.fetch, input: RequestInfo | URL, init: RequestInit | undefined): Call | undefined {
  const signal = init?.signal ?? (isRequest(input) ? input.signal : undefined);
  let request: Request;
  try {
    request = new Request(input, { ...init, signal: null });
  } catch {
    return undefined;
  }
  const body = request.body === null ? undefined : keepBody(request.clone());
  const headers = new Headers(request.headers);
  const bytes = async (): Promise<Uint8Array<ArrayBuffer> | undefined> => {
    const kept = await body?.bytes;
    if (body === undefined || kept !== undefined) return kept;
    throw new ProtocolError(
      'body_not_replayable',
      `The request body is larger than ${BODY_LIMIT_BYTES} bytes or broke off, so it cannot be sent again with a payment. Send a smaller body.`,
      { details: { limitBytes: BODY_LIMIT_BYTES } },
    );
  };
  return {
    url: request.url,
    method: request.method,
    headers,
    signal: signal ?? undefined,
    paysItself: PAYMENT_HEADERS.some((name) => headers.has(name)),
    // Without a body the caller's own arguments go through untouched; a body is read once, so the request that holds it goes.
    sendUnpaid: () => (body === undefined ? fetch(input, init) : fetch(request, { ...withoutBody(init), ...(signal ? { signal } : {}) })),
    async sendPaid(url, header, paidSignal) {
      const kept = await bytes();
      const paid = new Headers(headers);
      if (new URL(url).origin !== new URL(request.url).origin) for (const name of CREDENTIAL_HEADERS) paid.delete(name);
      paid.set(header.name, header.value);
      return fetch(url, {
        ...passedOn(request, init),
        method: request.method,
        headers: paid,
        ...(kept === undefined ? {} : { body: kept }),
        // A payment header must not travel to where a redirect points, nor an old answer come from a cache.
        redirect: 'manual',
        cache: 'no-store',
        signal: paidSignal,
      });
    },
    replayable: bytes,
    forget: () => body?.drop(),
  };
}

function isRequest(input: RequestInfo | URL): input is Request {
  return typeof input === 'object' && 'headers' in input && 'signal' in input;
}

/** What a runtime's own fetch takes beyond the standard (dispatcher, next, cf ...), and what only counts with a body. */
function withoutBody(init: RequestInit | undefined): RequestInit {
  const { body: _body, method: _method, headers: _headers, ...rest } = init ?? {};
  return rest;
}

function passedOn(request: Request, init: RequestInit | undefined): RequestInit {
  const { credentials, referrer, referrerPolicy, integrity, keepalive, mode } = request;
  const rest = withoutBody(init);
  // A page's navigation is no mode that a script may ask for.
  const sent = mode === 'navigate' ? {} : { mode };
  return { credentials, referrer, referrerPolicy, integrity, keepalive, ...sent, ...rest };
}

/** Reads a body beside the request that sends it, up to the limit; beyond it, nothing is kept and nothing more is read. */
function keepBody(copy: Request): { bytes: Promise<Uint8Array<ArrayBuffer> | undefined>; drop(): void } {
  const reader = copy.body?.getReader();
  let dropped = false;
  const drop = () => {
    dropped = true;
    // A source that fails to cancel has nothing more to give.
    reader?.cancel().catch(() => undefined);
  };
  const read = async (): Promise<Uint8Array<ArrayBuffer> | undefined> => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    while (reader !== undefined && !dropped) {
      const { done, value } = await reader.read();
      if (done) return dropped ? undefined : join(chunks, size);
      size += value.byteLength;
      if (size > BODY_LIMIT_BYTES) drop();
      else chunks.push(value);
    }
    return undefined;
  };
  // A body that breaks off fails the request itself; here it is only not there to be sent again.
  return { bytes: read().catch(() => undefined), drop };
}

function join(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.byteLength;
  }
  return all;
}
