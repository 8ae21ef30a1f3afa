/**
 * The REST interface, as one function from a `Request` to a `Response`.
 *
 * @module exact-change/http
 */
export { createHandler } from './handler.js';
export { apiKeys } from './api-keys.js';
export { createMetrics, type Metrics } from './metrics.js';
export { rateLimit, type RateLimitOptions } from './rate-limit.js';
export type { HandlerOptions } from './options.js';
export type { CallerOf, WebhookCaller } from './caller.js';
