import ky, { isHTTPError } from 'ky';
import { onAbort } from './abort.js';
import { ExactChangeError, TransportError } from './errors.js';
import type { Runtime } from './runtime.js';

/** What slows requests down before they leave, and learns from the answers. */
export interface RequestLimiter {
  /** Resolves when the next request may leave; rejects with the signal's reason. */
  take(signal?: AbortSignal): Promise<void>;
  observe(status: number, headers: Headers): void;
}

export interface HttpOptions {
  /** Default: the global fetch, looked up at each call. */
  readonly fetch?: typeof fetch | undefined;
  /** Deadline of one attempt, body included. */
  readonly timeoutMs: number;
  readonly runtime: Runtime;
  readonly limiter?: RequestLimiter | undefined;
}

const ATTEMPTS = 3;
const MAX_WAIT_MS = 10_000;
const MAX_BODY_BYTES = 2 * 1024 * 1024;

const mayPass = (status: number): boolean => status === 429 || status === 421 || status >= 500;

/**
 * A fetch for Jupiter: each attempt has a deadline and a bounded body, and a 429, 421, 5xx or lost connection is tried up to three
 * times. Only for requests that change nothing. Other statuses are returned. Throws `rate_limited`, `jupiter_unavailable`,
 * `timeout` or `invalid_response`, or the reason of the caller's signal.
 */
export function createHttp(options: HttpOptions): typeof fetch {
  return async (input, init) => {
    const url = typeof input === 'string' ? input : input instanceof URL ? input.href : input.url;
    const signal = init?.signal ?? undefined;
    if (signal?.aborted === true) throw signal.reason;
    try {
      return await ky(url, {
        method: init?.method ?? 'GET',
        // The deadline below covers the body too, and ky's way of combining signals is missing in older runtimes.
        timeout: false,
        fetch: () => send(url, init, options),
        retry: { limit: ATTEMPTS - 1, methods: ['get', 'post'], shouldRetry: ({ error }) => isPassing(error), delay: () => 0 },
        hooks: { beforeRetry: [({ error, retryCount }) => wait(error, retryCount - 1, options.runtime, signal)] },
        throwHttpErrors: mayPass,
      });
    } catch (error) {
      throw final(error, signal, options);
    }
  };
}

/** The request failed before an answer was complete. */
class LostError extends Error {}
class DeadlineError extends Error {}

function isPassing(error: Error): boolean {
  return isHTTPError(error) || error instanceof LostError || error instanceof DeadlineError;
}

async function send(url: string, init: RequestInit | undefined, options: HttpOptions): Promise<Response> {
  const { limiter, fetch: request = (...args: Parameters<typeof fetch>) => globalThis.fetch(...args) } = options;
  const signal = init?.signal ?? undefined;
  await limiter?.take(signal);
  return withDeadline(options, signal, async (inner) => {
    // A redirect would carry the API key to another host.
    const response = await lost(() => request(url, { ...init, redirect: 'error', signal: inner }));
    limiter?.observe(response.status, response.headers);
    const body = await readBody(response);
    return new Response(body.length === 0 ? null : body, { status: response.status, headers: response.headers });
  });
}

async function lost<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new LostError('No answer.', { cause });
  }
}

/** Runs `work` until it is done, time is up or the caller gives up, also where what it calls ignores its signal. */
async function withDeadline<T>(
  { runtime, timeoutMs }: HttpOptions,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const stop = () => controller.abort(signal?.reason);
  if (signal?.aborted === true) stop();
  const forget = signal === undefined ? undefined : onAbort(signal, stop);
  const stopped = new Promise<never>((_, reject) => {
    const refuse = () => reject(signal?.reason);
    if (controller.signal.aborted) refuse();
    controller.signal.addEventListener('abort', refuse, { once: true });
  });
  const late = runtime.sleep(timeoutMs, controller.signal).then(() => {
    throw new DeadlineError('The deadline passed.');
  });
  const done = work(controller.signal);
  // Whichever loses the race still settles, and nobody looks at it.
  for (const one of [stopped, late, done]) one.catch(() => undefined);
  try {
    return await Promise.race([done, late, stopped]);
  } finally {
    forget?.();
    controller.abort();
  }
}

/** The whole body, unless it is larger than any honest answer. */
async function readBody(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const reader = response.body?.getReader();
  if (reader === undefined) return new Uint8Array(await lost(() => response.arrayBuffer()));
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await lost(() => reader.read());
    if (done) break;
    length += value.length;
    if (length > MAX_BODY_BYTES) {
      reader.cancel().catch(() => undefined);
      const reason = `the answer is longer than ${MAX_BODY_BYTES} bytes`;
      throw new TransportError('invalid_response', `Jupiter's answer cannot be used: ${reason}. Try again, and check jupiterUrl.`, {
        details: { service: 'jupiter', reason },
      });
    }
    chunks.push(value);
  }
  const body = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    body.set(chunk, offset);
    offset += chunk.length;
  }
  return body;
}

async function wait(error: Error, attempt: number, runtime: Runtime, signal: AbortSignal | undefined): Promise<void> {
  const response = isHTTPError(error) ? error.response : undefined;
  const asked = response === undefined ? undefined : askedWait(response.headers, runtime.now());
  const first = response?.status === 429 ? 1_000 : 250;
  const ms = Math.min(asked ?? first * 2 ** attempt, MAX_WAIT_MS);
  // Up to a quarter more, so that clients that were turned away together do not come back together.
  const [random = 0] = runtime.randomBytes(1);
  await runtime.sleep(ms + Math.round((ms * random) / 1024), signal);
}

/** Milliseconds that the answer asks us to wait: `Retry-After` (seconds or a date), or Jupiter's `x-ratelimit-reset` (unix seconds). */
export function askedWait(headers: Headers, now: number): number | undefined {
  const after = headers.get('retry-after')?.trim();
  if (after !== undefined && /^[0-9]{1,9}$/.test(after)) return Number(after) * 1000;
  const date = after === undefined || /^-?[0-9.]+$/.test(after) ? Number.NaN : Date.parse(after);
  if (!Number.isNaN(date)) return Math.max(0, date - now);
  const reset = headers.get('x-ratelimit-reset')?.trim() ?? '';
  return /^[0-9]{1,12}$/.test(reset) ? Math.max(0, Number(reset) * 1000 - now) : undefined;
}

function final(error: unknown, signal: AbortSignal | undefined, { timeoutMs, runtime }: HttpOptions): unknown {
  if (signal?.aborted === true) return signal.reason;
  if (error instanceof ExactChangeError) return error;
  if (error instanceof DeadlineError) {
    const message = `Jupiter did not answer within ${timeoutMs} ms, ${ATTEMPTS} times. Try again, or raise timeouts.jupiter.`;
    return new TransportError('timeout', message, { details: { step: 'jupiter', timeoutMs }, cause: error });
  }
  if (!isHTTPError(error)) {
    const cause = error instanceof LostError ? error.cause : error;
    return new TransportError(
      'jupiter_unavailable',
      `Jupiter could not be reached in ${ATTEMPTS} attempts. Try again, and check jupiterUrl.`,
      {
        details: { status: 0 },
        cause,
      },
    );
  }
  const { status, headers } = error.response;
  if (status === 429) {
    const retryAfterMs = askedWait(headers, runtime.now()) ?? MAX_WAIT_MS;
    const message = `Jupiter is rate limiting this client. Wait ${retryAfterMs} ms, or set jupiterApiKey.`;
    return new TransportError('rate_limited', message, { details: { retryAfterMs } });
  }
  return new TransportError('jupiter_unavailable', `Jupiter answered ${status} in ${ATTEMPTS} attempts. Try again later.`, {
    details: { status },
  });
}
