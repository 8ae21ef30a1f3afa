import { parseServiceUrl } from '../../src/config/addresses.js';
import { globalFetch, parseFetch, parseMs, SERVICE_MS } from '../../src/config/parse-options.js';
import { refuse, refuseUnknown } from '../../src/internal/options.js';
import { hideHeaders } from '../../src/internal/redact.js';
import { systemRuntime, type Runtime } from '../../src/internal/runtime.js';
import type { Parts } from '../../src/payments/context.js';
import type { Transport } from '../../src/transport.js';

export interface RemoteOptions {
  /** What sends requests; default: the global fetch, looked up at each call. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /**
   * Sent with each request, such as `{ 'x-api-key': key }`. No redirect is followed, so they reach
   * the service's own origin alone.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds for one call, further tries included; default 30000. */
  readonly timeoutMs?: number | undefined;
  /** Of one answer, counted as it comes; default 2097152. */
  readonly maxBodyBytes?: number | undefined;
}

/** @internal What the remote transport works with. */
export interface RemoteSettings extends Required<{
  readonly [K in keyof RemoteOptions]: NonNullable<RemoteOptions[K]>;
}> {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly runtime: Runtime;
}

const NAMES: readonly string[] = ['fetch', 'headers', 'timeoutMs', 'maxBodyBytes'];
const MAX_BODY_BYTES = 2 * 1024 * 1024;

/**
 * A transport over HTTP: the service at `baseUrl`, which must be https unless it is on this
 * machine. What it answers is a hint, held to the same shapes and turned into the same errors as in
 * this process; its own words are only ever under `untrusted`. Calls that change nothing are tried
 * up to three times. `createClient({ apiUrl })` uses it.
 *
 * Throws `ConfigError` (`invalid_option`) at once if an argument is wrong.
 *
 * @example
 * const transport = remote('https://pay.example.com', { headers: { 'x-api-key': apiKey } });
 * const client = createClient({ walletSecretKey, transport });
 */
export function remote(baseUrl: string, options: RemoteOptions = {}): Transport {
  refuseUnknown(options, NAMES);
  return lazily({
    baseUrl: parseServiceUrl('baseUrl', baseUrl),
    fetch: parseFetch(options.fetch) ?? globalFetch(),
    headers: parseHeaders(options.headers ?? {}),
    timeoutMs: parseMs('timeoutMs', options.timeoutMs ?? SERVICE_MS),
    maxBodyBytes: parseBytes(options.maxBodyBytes ?? MAX_BODY_BYTES),
    runtime: systemRuntime,
  });
}

/** @internal The service that a client's options name. */
export const remoteOver: Parts['remote'] = (baseUrl, { apiKey, fetch, timeouts, runtime }) => {
  const headers: Readonly<Record<string, string>> =
    apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  return lazily({
    baseUrl,
    fetch,
    headers,
    timeoutMs: timeouts.service,
    maxBodyBytes: MAX_BODY_BYTES,
    runtime,
  });
};

/**
 * Loads what does the work when it is first needed. There is no `swapInstruction`: the client takes
 * it out of the transaction.
 */
function lazily(settings: RemoteSettings): Transport {
  let loading: Promise<Transport> | undefined;
  const load = () =>
    (loading ??= import('./operations.js').then(({ createRemote }) => createRemote(settings)));
  return {
    distant: true,
    quote: async (request, options) => (await load()).quote(request, options),
    buildSwap: async (request, options) => (await load()).buildSwap(request, options),
    balance: async (request, options) => (await load()).balance(request, options),
    parsePayment: async (parts, options) => (await load()).parsePayment(parts, options),
    autoPay: async (request, options) => (await load()).autoPay(request, options),
  };
}

function parseHeaders(headers: unknown): Readonly<Record<string, string>> {
  const wrong = () => refuse('headers', 'must be an object of header names and values.');
  if (
    typeof headers !== 'object' ||
    headers === null ||
    Object.values(headers).some((value) => typeof value !== 'string')
  )
    throw wrong();
  try {
    // Its values are strings: seen above.
    const all = Object.fromEntries(new Headers(headers as Record<string, string>));
    hideHeaders(all);
    return Object.freeze(all);
  } catch {
    // The runtime's own error repeats the value, which may be a key.
    throw wrong();
  }
}

function parseBytes(bytes: unknown): number {
  if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes) || bytes < 1)
    throw refuse('maxBodyBytes', 'must be a whole number of bytes above 0.');
  return bytes;
}
