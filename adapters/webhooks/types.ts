import type { WebhookEventName } from '../../src/outbox/outbox.js';

/** An endpoint to register. */
export interface WebhookRequest {
  /** An absolute `https:` address. */
  readonly url: string;
  /** Events to deliver; at least one. */
  readonly events: readonly WebhookEventName[];
  /** Deliver only events of these 1 to 1000 wallets; default: events of all wallets. */
  readonly wallets?: readonly string[] | undefined;
}

/** A registered endpoint. */
export interface WebhookEndpoint {
  readonly id: string;
  readonly url: string;
  readonly events: readonly WebhookEventName[];
  readonly wallets?: readonly string[];
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** When deliveries to the endpoint were stopped; milliseconds since the epoch. */
  readonly disabledAt?: number;
}

/** An endpoint, and the secret that signs its messages. The secret is shown only this once. */
export interface NewWebhookEndpoint extends WebhookEndpoint {
  /** `whsec_` and base64, as in Standard Webhooks. */
  readonly secret: string;
}

/** The result of one delivery. It holds no address, secret or text of a receiver. */
export interface WebhookDelivery {
  readonly event: WebhookEventName;
  readonly eventId: string;
  /** Id of the endpoint. */
  readonly endpoint: string;
  /** How often this event had failed at the endpoint before. */
  readonly failures: number;
  /** When the delivery ended; milliseconds since the epoch. */
  readonly at: number;
  /** How long the delivery took, in milliseconds. */
  readonly ms: number;
  /** Whether the endpoint accepted the event (2xx). */
  readonly delivered: boolean;
  /** Status of the answer; 0 if there was no answer. */
  readonly status: number;
  /** When the next try is due; milliseconds since the epoch. Absent if there is no next try. */
  readonly nextAt?: number;
}

/**
 * Registers endpoints. `caller` is the service's name for the caller: each caller sees and changes
 * only its own endpoints. Without `caller`, all endpoints belong to one caller.
 */
export interface WebhookRegistry {
  /**
   * Registers an endpoint. Rejects with `ConfigError` (`invalid_option`) if its address is not
   * allowed, or an event is unknown.
   */
  register(request: WebhookRequest, caller?: string): Promise<NewWebhookEndpoint>;
  list(caller?: string): Promise<WebhookEndpoint[]>;
  /**
   * Gives an endpoint a new secret; the old secret also signs for a day. Undefined if there is no
   * such endpoint. A disabled endpoint gets deliveries again.
   */
  rotate(id: string, caller?: string): Promise<NewWebhookEndpoint | undefined>;
  /** Removes an endpoint. Resolves to whether it existed. */
  remove(id: string, caller?: string): Promise<boolean>;
}
