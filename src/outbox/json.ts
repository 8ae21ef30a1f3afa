import { isRecord } from '../internal/record.js';
import { webhookEvents, type Endpoint, type OutboxJob } from './outbox.js';

const NAMES: readonly unknown[] = webhookEvents;

/** Whether parsed JSON is a job. Checks each field that an outbox itself reads. */
export function isOutboxJob(value: unknown): value is OutboxJob {
  if (!isRecord(value)) return false;
  const { id, event, endpoint, caller, failures, dueAt } = value;
  return (
    typeof id === 'string' &&
    isRecord(event) &&
    typeof event['id'] === 'string' &&
    NAMES.includes(event['type']) &&
    typeof event['timestamp'] === 'string' &&
    isRecord(event['data']) &&
    typeof event['data']['wallet'] === 'string' &&
    [endpoint, caller].every((text) => text === undefined || typeof text === 'string') &&
    typeof failures === 'number' &&
    typeof dueAt === 'number'
  );
}

export function isEndpoint(value: unknown): value is Endpoint {
  if (!isRecord(value)) return false;
  const { id, url, events, wallets, caller, secrets, createdAt, acceptedAt, disabledAt } = value;
  return (
    [id, url, caller].every((text) => typeof text === 'string') &&
    Array.isArray(events) &&
    events.every((name) => NAMES.includes(name)) &&
    (wallets === undefined ||
      (Array.isArray(wallets) && wallets.every((wallet) => typeof wallet === 'string'))) &&
    Array.isArray(secrets) &&
    secrets.every(isSecret) &&
    typeof createdAt === 'number' &&
    [acceptedAt, disabledAt].every((time) => time === undefined || typeof time === 'number')
  );
}

/**
 * Copies a job as its JSON has it, without objects of the caller. Throws `TypeError` if the value
 * is no job.
 */
export function copyOfJob(job: OutboxJob): OutboxJob {
  const copy: unknown = JSON.parse(JSON.stringify(job));
  if (isOutboxJob(copy)) return copy;
  throw new TypeError(
    'This is no job that an outbox can keep: a field is missing, or its event has no such name.',
  );
}

/**
 * Copies an endpoint as its JSON has it, without objects of the caller. Throws `TypeError` if the
 * value is no endpoint.
 */
export function copyOfEndpoint(endpoint: Endpoint): Endpoint {
  const copy: unknown = JSON.parse(JSON.stringify(endpoint));
  if (isEndpoint(copy)) return copy;
  throw new TypeError(
    'This is no endpoint that an outbox can keep: a field is missing, or of another kind.',
  );
}

function isSecret(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { secret, until } = value;
  return typeof secret === 'string' && (until === undefined || typeof until === 'number');
}
