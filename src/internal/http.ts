import ky, { isHTTPError } from 'ky';
import { ExactChangeError } from '../errors.js';
import { askedWait, MAX_WAIT_MS, withJitter } from './backoff.js';
import { bounded } from './abort.js';
import { isStream } from './kept-body.js';
import { readUpTo } from './read-up-to.js';
import { markOwnRequest, uncached } from './own-request.js';
import type { Runtime } from './runtime.js';

/** Delays requests before they leave, and learns from the answers. */
export interface RequestLimiter {
  /** Resolves when the next request may leave; rejects with the signal's reason. */
  take(signal?: AbortSignal): Promise<void>;
  observe(status: number, headers: Headers): void;
}

/** Makes the errors for failures of a peer, in words that say what to do about them. */
export interface HttpPeer {
  /** The last try was answered with 429, 421 or 5xx. */
  failing(
    response: Response,
    seen: { readonly attempts: number; readonly retryAfterMs: number },
  ): Promise<Error> | Error;
  /** No try was answered. */
  lost(cause: unknown, attempts: number): Error;
  /** The last try was not answered in time. */
  late(timeoutMs: number, attempts: number): Error;
  /** The answer is longer than any honest answer. */
  tooLong(limitBytes: number): Error;
  /** Whether a 429, 421 or 5xx says by itself that another try changes nothing. */
  isLasting?(response: Response): Promise<boolean>;
}

export interface HttpOptions {
  readonly peer: HttpPeer;
  /** Default: the global fetch, looked up at each call. */
  readonly fetch?: typeof fetch | undefined;
  /** Deadline of one attempt, body included. */
  readonly timeoutMs: number;
  readonly runtime: Runtime;
  readonly limiter?: RequestLimiter | undefined;
  /** Tries of a request; default 3. Use 1 for a request that changes something. */
  readonly attempts?: number;
  /** The most bytes of an answer's body; default 2 MiB. */
  readonly maxBodyBytes?: number;
}

const ATTEMPTS = 3;
const MAX_BODY_BYTES = 2 * 1024 * 1024;

const isRetryable = (status: number): boolean => status === 429 || status === 421 || status >= 500;

/**
 * Creates a fetch for a peer with small answers. Each try has a deadline and a bounded body. A 429,
 * 421, 5xx or lost connection is tried again; other statuses are returned. Throws the error that
 * the peer makes of a failure, or the reason of the caller's signal.
 */
export function createHttp(options: HttpOptions): typeof fetch {
  const { peer, runtime, attempts = ATTEMPTS } = options;
  const mayPass = async (error: Error): Promise<boolean> => {
    if (isHTTPError(error)) return (await peer.isLasting?.(error.response.clone())) !== true;
    return error instanceof LostError || error instanceof DeadlineError;
  };
  return async (input, init) => {
    const url = typeof input === 'string' ? input : input instanceof URL ? input.href : input.url;
    const signal = init?.signal ?? undefined;
    if (signal?.aborted === true) throw signal.reason;
    // Use ky only for retries: it costs half as much as a request, and most first tries succeed.
    let first: Promise<Response> | undefined = send(url, init, options);
    const isAnswered = await first.then(
      ({ status }) => !isRetryable(status),
      () => false,
    );
    if (isAnswered) return first;
    const next = () => {
      const response = first ?? send(url, init, options);
      first = undefined;
      return response;
    };
    try {
      return await ky(url, {
        method: init?.method ?? 'GET',
        // The deadline in `send` covers the body too, and ky combines signals in a way that older
        // runtimes lack.
        timeout: false,
        fetch: next,
        retry: {
          limit: attempts - 1,
          methods: ['get', 'post'],
          shouldRetry: ({ error }) => mayPass(error),
          delay: () => 0,
        },
        hooks: {
          beforeRetry: [({ error, retryCount }) => wait(error, retryCount - 1, runtime, signal)],
        },
        throwHttpErrors: isRetryable,
      });
    } catch (error) {
      throw await finalError(error, signal, { ...options, attempts });
    }
  };
}

/** The request failed before an answer was complete. */
class LostError extends Error {}
class DeadlineError extends Error {}

async function send(
  url: string,
  init: RequestInit | undefined,
  options: HttpOptions,
): Promise<Response> {
  const {
    limiter,
    peer,
    timeoutMs,
    maxBodyBytes = MAX_BODY_BYTES,
    fetch: request = (...args: Parameters<typeof fetch>) => globalThis.fetch(...args),
  } = options;
  const signal = init?.signal ?? undefined;
  await limiter?.take(signal);
  const timedOut = () => new DeadlineError('The deadline passed.');
  return bounded(timeoutMs, timedOut, [signal], async (inner) => {
    // A redirect would carry the request's key and content to another host. Worker runtimes do not
    // know `redirect: 'error'`.
    const response = await orLost(() =>
      request(url, markOwnRequest({ ...init, ...uncached(), redirect: 'manual', signal: inner })),
    );
    if (isRedirect(response))
      throw new LostError('No answer.', { cause: new TypeError('A redirect is not followed.') });
    limiter?.observe(response.status, response.headers);
    const body = await orLost(async () =>
      isStream(response.body)
        ? readUpTo({ size: maxBodyBytes }, response.body.getReader())
        : new Uint8Array(await response.arrayBuffer()),
    );
    if (body === undefined) throw peer.tooLong(maxBodyBytes);
    return new Response(body.length === 0 ? null : body, {
      status: response.status,
      headers: response.headers,
    });
  });
}

/** Whether a response is a redirect; a browser hides the status if it did not follow it. */
function isRedirect({ status, type }: Response): boolean {
  return type === 'opaqueredirect' || (status >= 300 && status < 400);
}

async function orLost<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new LostError('No answer.', { cause });
  }
}

async function wait(
  error: Error,
  attempt: number,
  runtime: Runtime,
  signal: AbortSignal | undefined,
): Promise<void> {
  const response = isHTTPError(error) ? error.response : undefined;
  const askedMs = response === undefined ? undefined : askedWait(response.headers, runtime.now());
  const firstMs = response?.status === 429 ? 1_000 : 250;
  const ms = Math.min(askedMs ?? firstMs * 2 ** attempt, MAX_WAIT_MS);
  await runtime.sleep(withJitter(ms, runtime), signal);
}

async function finalError(
  error: unknown,
  signal: AbortSignal | undefined,
  { peer, timeoutMs, runtime, attempts }: HttpOptions & { readonly attempts: number },
): Promise<unknown> {
  if (signal?.aborted === true) return signal.reason;
  if (error instanceof ExactChangeError) return error;
  if (error instanceof DeadlineError) return peer.late(timeoutMs, attempts);
  if (!isHTTPError(error))
    return peer.lost(error instanceof LostError ? error.cause : error, attempts);
  const { response } = error;
  return peer.failing(response, {
    attempts,
    retryAfterMs: askedWait(response.headers, runtime.now()) ?? MAX_WAIT_MS,
  });
}
