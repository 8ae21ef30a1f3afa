import { loadOnce, lazyPart } from '../../src/internal/load-once.js';
import type { Runtime } from '../../src/internal/runtime.js';
import type { Parts } from '../../src/payments/context.js';
import { transportOf, type Transport } from '../../src/transport.js';

const operations = /* @__PURE__ */ lazyPart(() => import('./operations.js'));

export interface RemoteOptions {
  /** The `fetch` that sends requests; default: the global `fetch` at the time of each call. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /**
   * Headers of each request, such as `{ 'x-api-key': key }`. They reach only the service's own
   * origin, because no redirect is followed.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds for one call, with all its tries: at least 1, default 30000. */
  readonly timeoutMs?: number | undefined;
  /** The most bytes of one answer, counted while it arrives; default 2097152. */
  readonly maxBodyBytes?: number | undefined;
}

/** The checked options of the remote transport. */
export interface RemoteSettings extends Required<{
  readonly [K in keyof RemoteOptions]: NonNullable<RemoteOptions[K]>;
}> {
  /** The service's URL, without a slash at the end. */
  readonly baseUrl: string;
  readonly runtime: Runtime;
}

export const MAX_BODY_BYTES = 2 * 1024 * 1024;

/** Returns the transport to the service of a client's options (`apiUrl`). */
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
 * Returns a transport that loads its operations with the first call. It has no `swapInstruction`:
 * the client reads the instruction from the transaction.
 */
export function lazily(settings: RemoteSettings): Transport {
  const load = loadOnce(async () => (await operations()).createRemote(settings));
  return { ...transportOf((_, signal) => load(signal)), distant: true };
}
