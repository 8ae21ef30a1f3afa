import { loadOnce, part } from '../../src/internal/load-once.js';
import type { Runtime } from '../../src/internal/runtime.js';
import type { Parts } from '../../src/payments/context.js';
import { transportOf, type Transport } from '../../src/transport.js';

const operations = /* @__PURE__ */ part(() => import('./operations.js'));

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

/** What the remote transport works with. */
export interface RemoteSettings extends Required<{
  readonly [K in keyof RemoteOptions]: NonNullable<RemoteOptions[K]>;
}> {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly runtime: Runtime;
}

export const MAX_BODY_BYTES = 2 * 1024 * 1024;

/** The service that a client's options name. */
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
export function lazily(settings: RemoteSettings): Transport {
  const load = loadOnce(async () => (await operations()).createRemote(settings));
  return { ...transportOf(load), distant: true };
}
