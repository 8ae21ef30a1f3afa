import type { Endpoint, WebhookEvent } from '../../src/outbox/outbox.js';
import { signatureOf } from './signature.js';

/** The signed request of one delivery. */
export interface Message {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Returns the message of an event for an endpoint, signed now. Each try has its own time, and all
 * tries have the event's id.
 */
export function messageOf({ url, secrets }: Endpoint, event: WebhookEvent, now: number): Message {
  const { type, timestamp, data } = event;
  const body = JSON.stringify({ type, timestamp, data });
  const seconds = Math.floor(now / 1000);
  const inUse = secrets.filter(({ until }) => until === undefined || until > now);
  return {
    url,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'exact-change',
      'webhook-id': event.id,
      'webhook-timestamp': String(seconds),
      'webhook-signature': inUse
        .map(({ secret }) => signatureOf(secret, event.id, seconds, body))
        .join(' '),
    },
    body,
  };
}
