import { parseServiceUrl } from '../../src/config/addresses.js';
import { globalFetch, parseFetch, parseMs, SERVICE_MS } from '../../src/config/parse-options.js';
import { refuse, refuseUnknown } from '../../src/internal/options.js';
import { hideHeaders } from '../../src/internal/redact.js';
import { systemRuntime } from '../../src/internal/runtime.js';
import type { Transport } from '../../src/transport.js';
import { lazily, MAX_BODY_BYTES, type RemoteOptions } from './lazily.js';

export type { RemoteOptions } from './lazily.js';

const NAMES: readonly string[] = ['fetch', 'headers', 'timeoutMs', 'maxBodyBytes'];

/**
 * Returns a transport over HTTP to the service at `baseUrl`, which must be https unless it is on
 * this machine. The client trusts no answer: answers must have the shapes of the local transport,
 * and failures become the same errors. Text of the service is only under `untrusted`. Calls that
 * change nothing are tried up to three times. `createClient({ apiUrl })` uses it.
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

function parseHeaders(headers: unknown): Readonly<Record<string, string>> {
  const wrong = () => refuse('headers', 'must be an object of header names and values.');
  if (
    typeof headers !== 'object' ||
    headers === null ||
    Object.values(headers).some((value) => typeof value !== 'string')
  )
    throw wrong();
  try {
    // All values are strings, as checked above.
    const parsed = Object.fromEntries(new Headers(headers as Record<string, string>));
    hideHeaders(parsed);
    return Object.freeze(parsed);
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
