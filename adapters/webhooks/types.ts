import type { WebhookEventName } from '../../src/outbox/outbox.js';

/** Where events are to be told. */
export interface WebhookRequest {
  /** An absolute `https:` address. */
  readonly url: string;
  /** Which events; at least one. */
  readonly events: readonly WebhookEventName[];
  /** Only events of these wallets; default: of any. */
  readonly wallets?: readonly string[] | undefined;
}

/** An endpoint that is registered. */
export interface WebhookEndpoint {
  readonly id: string;
  readonly url: string;
  readonly events: readonly WebhookEventName[];
  readonly wallets?: readonly string[];
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Told nothing more since then; milliseconds since the epoch. */
  readonly disabledAt?: number;
}

/** An endpoint, and the secret that its messages are signed with, which is shown this once. */
export interface NewWebhookEndpoint extends WebhookEndpoint {
  /** `whsec_` and base64, as Standard Webhooks have it. */
  readonly secret: string;
}

/** How one delivery went. No address, secret or word of a receiver is in it. */
export interface WebhookDelivery {
  readonly event: WebhookEventName;
  readonly eventId: string;
  /** Its id. */
  readonly endpoint: string;
  /** How often it had failed before. */
  readonly failures: number;
  /** When it ended; milliseconds since the epoch. */
  readonly at: number;
  readonly ms: number;
  readonly told: boolean;
  /** Of the answer; 0 if there was none. */
  readonly status: number;
  /** When it is made again; milliseconds since the epoch. Absent: never. */
  readonly nextAt?: number;
}

/**
 * Which endpoint is told what. `caller` asks, as the service knows its callers: each sees and
 * changes only what the same one registered. Without, no caller is told apart.
 */
export interface WebhookRegistry {
  /**
   * Rejects with `ConfigError` (`invalid_option`) if the address may not be told, or a name is
   * unknown.
   */
  register(request: WebhookRequest, caller?: string): Promise<NewWebhookEndpoint>;
  list(caller?: string): Promise<WebhookEndpoint[]>;
  /**
   * A new secret; the one before signs along for a day. Undefined if there is no such endpoint.
   * It is told again if it was disabled.
   */
  rotate(id: string, caller?: string): Promise<NewWebhookEndpoint | undefined>;
  /** Whether there was one. */
  remove(id: string, caller?: string): Promise<boolean>;
}
