/**
 * Delivers events to endpoints.
 *
 * @module exact-change/webhooks
 */
export { createWebhooks, type Webhooks } from './hub.js';
export type { WebhooksOptions } from './options.js';
export type {
  NewWebhookEndpoint,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookRegistry,
  WebhookRequest,
} from './types.js';
export { verifyWebhook, type VerifyOptions } from './verify.js';
export type { WebhookDetails, WebhookEvent, WebhookEventName } from '../../src/outbox/outbox.js';
