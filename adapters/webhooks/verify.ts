/**
 * Checks a webhook at its receiver, in any runtime.
 *
 * @module exact-change/webhooks/verify
 */
import { TransportError } from '../../src/errors.js';
import type { WebhookEvent } from '../../src/outbox/outbox.js';
import { refuse, refuseUnknown } from '../../src/internal/options.js';
import { isRecord } from '../../src/internal/record.js';
import { systemRuntime } from '../../src/internal/runtime.js';
import { parseJson } from '../../src/internal/parse.js';
import { readWhole } from '../read-whole.js';
import { isEvent, isEventName, MAX_BODY_BYTES } from './event.js';
import { hasShape, headerShapes } from './shapes.js';
import { isSame, isSecret, signatureOf } from './signature.js';

export type { WebhookDetails, WebhookEvent, WebhookEventName } from '../../src/outbox/outbox.js';

/** A message as it came, and the secrets of its possible senders. */
export interface VerifyOptions {
  /** The secret of the endpoint, from `register`: `whsec_` and base64. Give this or `secrets`. */
  readonly secret?: string | undefined;
  /** Several secrets, while a new secret replaces an old secret. */
  readonly secrets?: readonly string[] | undefined;
  /** Headers of the request: a `Headers`, or a record such as `request.headers` of Node. */
  readonly headers: { get(name: string): string | null } | Readonly<Record<string, unknown>>;
  /** The unparsed body of the request, as text or bytes. */
  readonly body: string | Uint8Array | ArrayBuffer;
  /** Seconds by which the message's time may differ from `now`, either way; default 300. */
  readonly toleranceSeconds?: number | undefined;
  /** Milliseconds since the epoch; default: the system's clock. */
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
// A lone surrogate has no UTF-8, so it would be signed as another character.
const HALF_CHARACTER = /\p{Surrogate}/u;

/**
 * Checks that the sender of a webhook knows the secret and that the message is recent, and returns
 * the event. Answer 2xx only after you have put the event on record by its `id`. A repeated
 * delivery has the same `id`. `exact-change/webhooks/verify` has this function without Node's
 * modules, for any runtime.
 *
 * Throws `TransportError` (`invalid_response`, `details.service` is `webhook`) if the message
 * cannot be trusted, or its kind is unknown: answer it with 400.
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
  const signatureList = headers('webhook-signature');
  if (!hasShape(signatureList, headerShapes['webhook-signature']))
    throw unverified('webhook-signature is no list of signatures');

  const seconds = Number(timestamp);
  const age = Math.floor(now / 1000) - seconds;
  if (age > toleranceSeconds)
    throw unverified('webhook-timestamp is too long ago: it may be a copy that is sent again');
  if (age < -toleranceSeconds)
    throw unverified('webhook-timestamp is in the future: set the clocks of both sides');

  const text = textOf(body);
  const signatures = signatureList.split(' ');
  // Compare every pair, so that the time does not show which secret or signature matched.
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
  readWhole('toleranceSeconds', toleranceSeconds, 0, MAX_TOLERANCE_SECONDS);
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
  const list: unknown = secrets ?? [secret];
  const option = secrets === undefined ? 'secret' : 'secrets';
  if (!Array.isArray(list) || list.length < 1 || list.length > MAX_SECRETS)
    throw refuse(option, `must be a list of 1 to ${MAX_SECRETS} secrets.`);
  return list.map((item: unknown) => {
    if (!isSecret(item))
      throw refuse(option, 'must be whsec_ and the base64 of 24 to 64 bytes, as register gave it.');
    return item;
  });
}

/** Returns a function that reads a header. It throws if the header is missing or there twice. */
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
    // Keep a byte order mark at the start: the signature covers it.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    throw unverified('the body is no UTF-8');
  }
}

function readEvent(id: string, text: string): WebhookEvent {
  const body = parseJson(text);
  if (!isRecord(body)) throw unverified('the body is no JSON of an event');
  const { type, timestamp, data } = body;
  if (typeof type === 'string' && !isEventName(type))
    throw unverified('the event is of a kind that this version does not know: update it');
  const event = { id, type, timestamp, data };
  if (!isEvent(event)) throw unverified('the event lacks what its kind has to say');
  return event;
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
