import { refuse } from '../../src/internal/options.js';

export interface RateLimitOptions {
  /** Requests of one caller in a minute; as many may come at once. */
  readonly perMinute: number;
  /**
   * What a request counts for, such as the address that a proxy of yours vouches for. What a caller
   * can make up, an API key that is not yet checked too, is a new caller each time. Default: all
   * callers are one.
   */
  readonly keyOf?: (request: Request) => string;
  /** Milliseconds; default `Date.now`. */
  readonly now?: () => number;
  /**
   * Callers that are remembered; default 10000. Beyond, the one that was quiet the longest is
   * forgotten, and starts anew.
   */
  readonly maxCallers?: number;
}

interface Bucket {
  readonly tokens: number;
  readonly at: number;
}

const MINUTE_MS = 60_000;
const MAX_KEY = 256;

/**
 * A `rateLimit` for the handler: a bucket of tokens for each caller, in this process alone. Answers
 * how many milliseconds a request has to wait, 0 if it may pass.
 *
 * Throws `ConfigError` (`invalid_option`) if a number is not a whole one above 0.
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
  const { perMinute, keyOf = () => '', now = Date.now, maxCallers = 10_000 } = options;
  for (const [name, value] of Object.entries({ perMinute, maxCallers })) {
    if (!Number.isSafeInteger(value) || value < 1)
      throw refuse(name, 'must be a whole number above 0.');
  }
  // In the order of last use: a Map keeps that of insertion.
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
