import { isRecord } from '../../src/internal/record.js';
import {
  webhookEvents,
  type WebhookEvent,
  type WebhookEventName,
} from '../../src/outbox/outbox.js';
import {
  allowedShapes,
  hasShape,
  headerShapes,
  neededShapes,
  timestampShape,
  type Shape,
} from './shapes.js';

/**
 * Largest body of a message, as Standard Webhooks recommend. So a receiver hashes no more than this
 * before it knows the sender.
 */
export const MAX_BODY_BYTES = 20_000;

export function isEventName(name: unknown): name is WebhookEventName {
  return webhookEvents.some((event) => event === name);
}

/** Whether a value has all fields of an event that its receiver relies on. */
export function isEvent(value: unknown): value is WebhookEvent {
  if (!isRecord(value)) return false;
  const { id, type, timestamp, data } = value;
  if (!hasShape(id, headerShapes['webhook-id']) || !hasShape(timestamp, timestampShape))
    return false;
  if (!isEventName(type) || !isRecord(data)) return false;
  const has = ([name, shape]: [string, Shape]) => hasShape(data[name], shape);
  const mayHave = ([name, shape]: [string, Shape]) =>
    data[name] === undefined || hasShape(data[name], shape);
  return (
    Object.entries(neededShapes[type]).every(has) &&
    Object.entries(allowedShapes[type] ?? {}).every(mayHave)
  );
}
