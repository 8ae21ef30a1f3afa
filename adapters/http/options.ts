import { refuse, refuseUnknown } from '../../src/internal/options.js';
import { parseUrl } from '../../src/internal/parse.js';
import { isRecord } from '../../src/internal/record.js';
import type { Transport } from '../../src/transport.js';
import { readWhole } from '../read-whole.js';
import type { WebhookRegistry } from '../webhooks/types.js';
import type { CallerOf } from './caller.js';
import type { Metrics } from './metrics.js';

export interface HandlerOptions {
  /** Path before each path of the service, such as `/pay`; default none. */
  readonly basePath?: string | undefined;
  /** Bytes of a request's body, counted as they come; default 65536. */
  readonly maxBodyBytes?: number | undefined;
  /** Milliseconds for one request, its body included; default 30000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Decides which requests may call an operation; absent, all may. `false` is answered with 401; a
   * `Response` is the answer itself. The hook must leave the body unread. Health and the OpenAPI
   * document are open.
   */
  readonly authorize?:
    ((request: Request) => boolean | Response | Promise<boolean | Response>) | undefined;
  /**
   * Returns the milliseconds that a request has to wait; called before `authorize`, for the same
   * requests. A request with more than 0 is answered with 429. See {@link rateLimit}.
   */
  readonly rateLimit?: ((request: Request) => number | Promise<number>) | undefined;
  /**
   * Milliseconds, up to 5000, for which equal requests share a quote; 0: no request shares. Default
   * 1000, a fifth of the age at which a client quotes again: then a Jupiter key with one request a
   * second is enough for each pair of tokens.
   */
  readonly quoteCacheMs?: number | undefined;
  /**
   * Milliseconds, up to 5000, for which equal requests share balances; 0: no request shares.
   * Default 400, the time of a slot, because confirmed balances change no sooner.
   */
  readonly balanceCacheMs?: number | undefined;
  /**
   * Serves the registration of webhooks below `/api/webhooks`; absent, there are no such paths. Any
   * caller that `authorize` lets in may register.
   */
  readonly webhooks?: WebhookRegistry | undefined;
  /**
   * Tells the caller of a request that registers webhooks or has an idempotency key; called after
   * `authorize`. Undefined is answered with 401. The hook must leave the body unread. Absent, all
   * requests come from one caller: each sees and changes every endpoint, may hear of every wallet,
   * and shares the idempotency keys. That fits a service for its operator's own programs.
   */
  readonly callerOf?: CallerOf | undefined;
  /** Serves its numbers at `/metrics` to requests that `authorize` lets in; absent, no such path. */
  readonly metrics?: Metrics | undefined;
  /** Origins of the pages that may call, such as `https://app.example.com`; default none. */
  readonly cors?: readonly string[] | undefined;
  /** Called with each failure that is answered with a status of 500 or above, for the host's log. */
  readonly onError?: ((error: unknown, requestId: string) => void) | undefined;
}

/** Options that have no default. */
type Optional = 'webhooks' | 'callerOf' | 'metrics';

/** Checked options, with defaults filled in. */
export type HandlerSettings = Pick<HandlerOptions, Optional> & {
  readonly [K in Exclude<keyof HandlerOptions, Optional>]-?: NonNullable<HandlerOptions[K]>;
};

// A client quotes again if a quote is older: run-swap.ts.
const MAX_CACHE_MS = 5_000;

const NAMES: readonly string[] = [
  'basePath',
  'maxBodyBytes',
  'timeoutMs',
  'authorize',
  'rateLimit',
  'quoteCacheMs',
  'balanceCacheMs',
  'webhooks',
  'callerOf',
  'metrics',
  'cors',
  'onError',
];

/** Checks options and fills in the defaults. Throws `ConfigError` (`invalid_option`). */
export function parseHandlerOptions(
  transport: Transport,
  options: HandlerOptions,
): HandlerSettings {
  if (!hasMethods(transport, TRANSPORT))
    throw refuse('transport', 'must be a transport, such as local() gives.');
  // Refuse unknown names: a misspelt `authorize` would leave the service open.
  refuseUnknown(options, NAMES);
  return {
    basePath: parseBasePath(options.basePath ?? ''),
    maxBodyBytes: readWhole('maxBodyBytes', options.maxBodyBytes ?? 65_536),
    timeoutMs: readWhole('timeoutMs', options.timeoutMs ?? 30_000),
    authorize: parseHook('authorize', options.authorize) ?? (() => true),
    rateLimit: parseHook('rateLimit', options.rateLimit) ?? (() => 0),
    quoteCacheMs: readWhole('quoteCacheMs', options.quoteCacheMs ?? 1_000, 0, MAX_CACHE_MS),
    balanceCacheMs: readWhole('balanceCacheMs', options.balanceCacheMs ?? 400, 0, MAX_CACHE_MS),
    webhooks: parseRegistry(options.webhooks),
    callerOf: parseHook('callerOf', options.callerOf),
    metrics: parseMetrics(options.metrics),
    cors: parseOrigins(options.cors ?? []),
    onError: parseHook('onError', options.onError) ?? (() => undefined),
  };
}

function parseBasePath(path: unknown): string {
  if (typeof path !== 'string' || !/^(?:\/[A-Za-z0-9._~-]+)*$/.test(path))
    throw refuse('basePath', 'must be empty, or a path such as "/pay".');
  return path;
}

function parseHook<T>(option: string, hook: T | undefined): T | undefined {
  if (hook !== undefined && typeof hook !== 'function') throw refuse(option, 'must be a function.');
  return hook;
}

const REGISTRY = [
  'register',
  'list',
  'rotate',
  'remove',
] as const satisfies readonly (keyof WebhookRegistry)[];

const TRANSPORT = [
  'quote',
  'buildSwap',
  'balance',
  'parsePayment',
  'autoPay',
] as const satisfies readonly (keyof Transport)[];

function parseRegistry(registry: WebhookRegistry | undefined): WebhookRegistry | undefined {
  if (registry === undefined || hasMethods(registry, REGISTRY)) return registry;
  throw refuse('webhooks', 'must be a registry of webhooks, such as createWebhooks gives.');
}

function hasMethods(value: unknown, names: readonly string[]): boolean {
  return isRecord(value) && names.every((name) => typeof value[name] === 'function');
}

function parseMetrics(metrics: Metrics | undefined): Metrics | undefined {
  if (metrics !== undefined && typeof metrics.text !== 'function')
    throw refuse('metrics', 'must be what createMetrics gives.');
  return metrics;
}

function parseOrigins(origins: unknown): readonly string[] {
  if (!Array.isArray(origins)) throw refuse('cors', 'must be a list of origins.');
  return origins.map((origin: unknown) => {
    if (typeof origin !== 'string' || parseUrl(origin)?.origin !== origin)
      throw refuse('cors', 'must name origins such as "https://app.example.com", each in full.');
    return origin;
  });
}
