import { refuse, refuseUnknown } from '../../src/internal/options.js';
/**
 * Checks a webhook at its receiver, in any runtime.
 *
 * @module exact-change/webhooks/verify
 */
import { TransportError } from '../../src/errors.js';
import type { WebhookEvent } from '../../src/outbox/outbox.js';
import { systemRuntime } from '../../src/internal/runtime.js';
import { isEvent, isEventName, isRecord, MAX_BODY_BYTES } from './event.js';
import { hasShape, headerShapes } from './shapes.js';
import { isSame, isSecret, signatureOf } from './signature.js';

export type { WebhookDetails, WebhookEvent, WebhookEventName } from '../../src/outbox/outbox.js';

/** A message as it came, and the secrets of its possible senders. */
export interface VerifyOptions {
  /** What `register` gave: `whsec_` and base64. Or `secrets`. */
  readonly secret?: string | undefined;
  /** Several, while one takes the place of another. */
  readonly secrets?: readonly string[] | undefined;
  /** Of the request: a `Headers`, or a record such as `request.headers` of Node and Express. */
  readonly headers: { get(name: string): string | null } | Readonly<Record<string, unknown>>;
  /** The body as it came, before it was parsed: its text or its bytes. */
  readonly body: string | Uint8Array | ArrayBuffer;
  /** How far the message's time may be from ours, before or after, in seconds; default 300. */
  readonly toleranceSeconds?: number | undefined;
  /** Milliseconds since the epoch; default the system's clock. */
  readonly now?: number | undefined;
}

const NAMES: readonly string[] = [
  'secret',
  'secrets',
  'headers',
  'body',
  'toleranceSeconds',
  'now',
];
const MAX_SECRETS = 10;
const MAX_TOLERANCE_SECONDS = 86_400;
// What has no UTF-8 would be signed as if it were another character.
const HALF_CHARACTER = /\p{Surrogate}/u;

/**
 * Checks that a webhook is from a sender that knows its secret, that it is of now, and reads it.
 * Answer 2xx only when it has returned, and you have the event on record: by its `id`, which is the
 * same if it is told again. Needs nothing of Node: from `exact-change/webhooks/verify` it runs
 * anywhere.
 *
 * Throws `TransportError` (`invalid_response`, `details.service` is `webhook`) if the message is
 * not to be trusted, or of no known kind: answer that with 400.
 * Throws `ConfigError` (`invalid_option`) if the options are wrong.
 *
 * @example
 * const event = verifyWebhook({ secret, headers: request.headers, body: await request.text() });
 * if (event.type === 'payment.settled') console.log(event.data.signature);
 */
export function verifyWebhook(options: VerifyOptions): WebhookEvent {
  const { secrets, headers, body, toleranceSeconds, now } = readOptions(options);
  const id = headers('webhook-id');
  if (!hasShape(id, headerShapes['webhook-id']))
    throw unverified('webhook-id is no id of an event');
  const timestamp = headers('webhook-timestamp');
  if (!hasShape(timestamp, headerShapes['webhook-timestamp']))
    throw unverified('webhook-timestamp is no time in seconds');
  const given = headers('webhook-signature');
  if (!hasShape(given, headerShapes['webhook-signature']))
    throw unverified('webhook-signature is no list of signatures');

  const seconds = Number(timestamp);
  const age = Math.floor(now / 1000) - seconds;
  if (age > toleranceSeconds)
    throw unverified('webhook-timestamp is too long ago: it may be a copy that is sent again');
  if (age < -toleranceSeconds)
    throw unverified('webhook-timestamp is in the future: set the clocks of both sides');

  const text = textOf(body);
  const signatures = given.split(' ');
  // All with all, so that time tells nothing of which.
  const known = secrets.flatMap((secret) => {
    const expected = signatureOf(secret, id, seconds, text);
    return signatures.map((signature) => isSame(signature, expected));
  });
  if (!known.includes(true))
    throw unverified('no signature is of this body and a secret that is known here');
  return readEvent(id, text);
}

function readOptions(options: VerifyOptions) {
  refuseUnknown(options, NAMES);
  const { toleranceSeconds = 300, now = systemRuntime.now() } = options;
  if (
    !Number.isInteger(toleranceSeconds) ||
    toleranceSeconds < 0 ||
    toleranceSeconds > MAX_TOLERANCE_SECONDS
  )
    throw refuse('toleranceSeconds', `must be a whole number from 0 to ${MAX_TOLERANCE_SECONDS}.`);
  if (!Number.isFinite(now)) throw refuse('now', 'must be milliseconds since the epoch.');
  return {
    secrets: readSecrets(options),
    headers: readHeaders(options.headers),
    body: readBody(options.body),
    toleranceSeconds,
    now,
  };
}

function readSecrets({ secret, secrets }: VerifyOptions): readonly string[] {
  if ((secret === undefined) === (secrets === undefined))
    throw refuse('secret', 'must be given, or else secrets.');
  const all: unknown = secrets ?? [secret];
  const option = secrets === undefined ? 'secret' : 'secrets';
  if (!Array.isArray(all) || all.length < 1 || all.length > MAX_SECRETS)
    throw refuse(option, `must be a list of 1 to ${MAX_SECRETS} secrets.`);
  return all.map((one: unknown) => {
    if (!isSecret(one))
      throw refuse(option, 'must be whsec_ and the base64 of 24 to 64 bytes, as register gave it.');
    return one;
  });
}

/** Reads one header; what is missing, or there twice, is refused. */
function readHeaders(headers: unknown): (name: string) => string {
  if (!isRecord(headers))
    throw refuse('headers', 'must be a Headers or a record of names and values.');
  const { get } = headers;
  const valuesOf = (name: string): unknown[] =>
    typeof get === 'function'
      ? [get.call(headers, name)]
      : Object.entries(headers).flatMap(([key, value]) =>
          key.toLowerCase() === name && value !== undefined ? [value] : [],
        );
  return (name) => {
    const values = valuesOf(name).filter((value) => value !== null);
    const [value] = values;
    if (values.length === 0 || value === '') throw unverified(`${name} is missing`);
    if (values.length > 1 || typeof value !== 'string')
      throw unverified(`${name} is there more than once`);
    return value;
  };
}

function readBody(body: unknown): string | Uint8Array {
  if (typeof body === 'string') return body;
  if (ArrayBuffer.isView(body))
    return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  throw refuse(
    'body',
    'must be the body as it came, its text or its bytes: what was parsed cannot be checked.',
  );
}

function textOf(body: string | Uint8Array): string {
  if (body.length > MAX_BODY_BYTES) throw unverified('the body is larger than any that is sent');
  if (typeof body === 'string') {
    if (HALF_CHARACTER.test(body)) throw unverified('the body is no UTF-8');
    return body;
  }
  try {
    // A mark at its start is signed like the rest.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    throw unverified('the body is no UTF-8');
  }
}

function readEvent(id: string, text: string): WebhookEvent {
  const body = parseRecord(text);
  if (body === undefined) throw unverified('the body is no JSON of an event');
  const { type, timestamp, data } = body;
  if (typeof type === 'string' && !isEventName(type))
    throw unverified('the event is of a kind that this version does not know: update it');
  const event = { id, type, timestamp, data };
  if (!isEvent(event)) throw unverified('the event lacks what its kind has to say');
  return event;
}

function parseRecord(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function unverified(reason: string): TransportError {
  return new TransportError(
    'invalid_response',
    `The webhook was not accepted: ${reason}. Answer it with 400, and do nothing that it says.`,
    {
      details: { service: 'webhook', reason },
      retry: 'never',
    },
  );
}
