import { refuse, refuseUnknown } from '../../src/internal/options.js';

export interface RateLimitOptions {
  /** Requests of one caller in a minute; the caller may send all of them at once. */
  readonly perMinute: number;
  /**
   * Returns the caller that a request counts for, such as the address that your proxy vouches for.
   * A caller can invent any other value, such as an API key before it is checked, and be a new
   * caller each time. Default: all requests come from one caller.
   */
  readonly keyOf?: ((request: Request) => string) | undefined;
  /** Returns the time in milliseconds; default `Date.now`. */
  readonly now?: (() => number) | undefined;
  /**
   * Callers that are remembered; default 10000. Beyond that, the caller that was quiet the longest
   * is forgotten and starts anew.
   */
  readonly maxCallers?: number | undefined;
}

interface Bucket {
  readonly tokens: number;
  readonly at: number;
}

const MINUTE_MS = 60_000;
const MAX_KEY = 256;

/**
 * Creates a `rateLimit` hook for the handler: a token bucket for each caller, in this process alone.
 * The hook returns the milliseconds that a request has to wait, 0 if it may pass.
 *
 * Throws `ConfigError` (`invalid_option`) if the options are wrong.
 *
 * @example
 * const handler = createHandler(local(), {
 *   rateLimit: rateLimit({
 *     perMinute: 120,
 *     keyOf: (request) => request.headers.get('cf-connecting-ip') ?? '',
 *   }),
 * });
 */
export function rateLimit(options: RateLimitOptions): (request: Request) => number {
  refuseUnknown(options, ['perMinute', 'keyOf', 'now', 'maxCallers']);
  const { perMinute, keyOf = () => '', now = Date.now, maxCallers = 10_000 } = options;
  for (const [name, value] of Object.entries({ perMinute, maxCallers })) {
    if (!Number.isSafeInteger(value) || value < 1)
      throw refuse(name, 'must be a whole number above 0.');
  }
  // In the order of last use, because each use inserts its bucket anew.
  const buckets = new Map<string, Bucket>();
  return (request) => {
    const key = keyOf(request).slice(0, MAX_KEY);
    const at = now();
    const before = buckets.get(key) ?? { tokens: perMinute, at };
    const tokens = Math.min(
      perMinute,
      before.tokens + (Math.max(0, at - before.at) * perMinute) / MINUTE_MS,
    );
    const passes = tokens >= 1;
    buckets.delete(key);
    buckets.set(key, { tokens: passes ? tokens - 1 : tokens, at });
    const [quietest] = buckets.keys();
    if (buckets.size > maxCallers && quietest !== undefined) buckets.delete(quietest);
    return passes ? 0 : Math.ceil(((1 - tokens) * MINUTE_MS) / perMinute);
  };
}
