import { ProtocolError } from '../../errors.js';
import type {
  JsonObject,
  JsonValue,
  PaymentRequired,
  PaymentRequirements,
  X402Version,
} from '../types.js';
import {
  copyJson,
  decodeHeader,
  fieldsOf,
  isJsonList,
  isJsonObject,
  JSON_LIMITS,
  readJson,
  type JsonReading,
} from './json.js';

/** A 402 as far as it is known: any of its parts may be missing. */
export interface PaymentRequiredParts {
  readonly url?: string;
  readonly headers?: Headers | Readonly<Record<string, string>>;
  /** The text of the body, or the object that it parses to. */
  readonly body?: string | object | undefined;
}

/** A payment request that cannot be read, and why, in our words. */
export interface Malformed {
  readonly malformed: string;
}

const MAX_ACCEPTS = 32;
/**
 * Of an offer's keys, those that nothing else uses; `scheme` and `network` are words of card
 * payments too.
 */
const OFFER_KEYS = ['payTo', 'asset', 'maxAmountRequired'] as const;

/**
 * What this module has read: everything else that looks like it is a stranger's word, its `url`
 * too.
 */
const parsed = new WeakSet();

/** Whether terms are of our own reading, and so bounded, frozen, and from where they say. */
export function isParsed(terms: object): terms is PaymentRequired {
  return parsed.has(terms);
}

/** The terms that parts of a 402 hold, if any; throws `malformed_payment_required`. */
export function readTerms(parts: PaymentRequiredParts): PaymentRequired | undefined {
  const found = findPaymentRequired(parts);
  if (found !== undefined && 'malformed' in found) throw malformedPaymentRequired(found.malformed);
  return found;
}

/** As {@link readTerms}, with the malformed case as data. */
export function findPaymentRequired(
  parts: PaymentRequiredParts,
): PaymentRequired | Malformed | undefined {
  const header = fromHeader(parts, 'payment-required');
  const body = fromBody(parts.body);
  if (isReadable(header)) {
    const fallback =
      header.x402Version === 2 && isReadable(body) && body.x402Version === 1
        ? withUrl(body, parts.url)
        : undefined;
    return withUrl(fallback === undefined ? header : { ...header, fallback }, parts.url);
  }
  if (isReadable(body)) return withUrl(body, parts.url);
  const late = fromHeader(parts, 'x-payment-required');
  if (isReadable(late)) return withUrl(late, parts.url);
  return header ?? body ?? late;
}

/** The value of a header, in any case; values of repeated headers joined as fetch joins them. */
export function headerValue(
  headers: PaymentRequiredParts['headers'],
  name: string,
): string | undefined {
  if (headers === undefined) return undefined;
  if (isHeaders(headers)) return headers.get(name) ?? undefined;
  const values = Object.entries(headers)
    .filter(
      ([key, value]: [string, unknown]) => key.toLowerCase() === name && typeof value === 'string',
    )
    .map(([, value]) => value);
  return values.length === 0 ? undefined : values.join(', ');
}

/** The body as an object, if it is readable JSON and one. */
export function bodyObject(body: PaymentRequiredParts['body']): JsonObject | undefined {
  const json = bodyJson(body);
  return json?.ok === true && isJsonObject(json.value) ? json.value : undefined;
}

export function malformedPaymentRequired(
  reason: string,
  response?: Response,
): ProtocolError<'malformed_payment_required'> {
  return new ProtocolError(
    'malformed_payment_required',
    `The seller's payment terms cannot be read: ${reason}. Nothing was paid; ask the seller.`,
    {
      details: { reason },
      ...(response === undefined ? {} : { response }),
    },
  );
}

/** Whether text that we cannot parse is a payment request all the same. */
export function claimsPayment(text: string): boolean {
  const json = stripMark(text.slice(0, JSON_LIMITS.characters));
  if (!json.startsWith('{')) return false;
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && isClaim(value);
  } catch {
    // Broken or cut off: the key that no other protocol uses decides.
    return /"x402Version"\s*:/.test(json);
  }
}

/** By shape, because Headers may come from another realm or a fetch library. */
function isHeaders(headers: Headers | Readonly<Record<string, string>>): headers is Headers {
  return 'get' in headers && typeof headers['get'] === 'function';
}

/** As many headers are remembered, and none that is longer. */
const MOST_HEADERS = 16;
const MOST_CHARACTERS = 8_192;
/** What headers were read as, by their text, deeply frozen: a seller mostly repeats itself. */
const known = new Map<string, PaymentRequired>();

function fromHeader(
  parts: PaymentRequiredParts,
  name: string,
): PaymentRequired | Malformed | undefined {
  const value = headerValue(parts.headers, name);
  if (value === undefined) return undefined;
  const before = known.get(value);
  if (before !== undefined) return before;
  const json = decodeHeader(value);
  if (json === undefined)
    return { malformed: 'its header is not base64 of plain JSON within our bounds' };
  const read = readEnvelope(json);
  if (isReadable(read) && value.length <= MOST_CHARACTERS) remember(value, read);
  return read;
}

function remember(header: string, terms: PaymentRequired): void {
  for (const oldest of known.keys()) {
    if (known.size < MOST_HEADERS) break;
    known.delete(oldest);
  }
  known.set(header, terms);
}

function fromBody(body: PaymentRequiredParts['body']): PaymentRequired | Malformed | undefined {
  const json = bodyJson(body);
  if (json === undefined) return undefined;
  if (!json.ok) {
    const claims =
      typeof body === 'string' ? claimsPayment(body) : body !== undefined && isClaim(body);
    return claims ? { malformed: `its body cannot be taken, ${json.reason}` } : undefined;
  }
  return isJsonObject(json.value) && isClaim(json.value) ? readEnvelope(json.value) : undefined;
}

function bodyJson(body: unknown): JsonReading | undefined {
  if (typeof body !== 'string')
    return typeof body === 'object' && body !== null ? copyJson(body) : undefined;
  const text = stripMark(body);
  return text.startsWith('{') ? readJson(text) : undefined;
}

/**
 * Whether an object means to be a payment request: others have `accepts` too, such as what a card
 * terminal takes.
 */
function isClaim(body: object): boolean {
  if (Object.prototype.hasOwnProperty.call(body, 'x402Version')) return true;
  const accepts = valueOf(body, 'accepts');
  return (
    Array.isArray(accepts) &&
    accepts.some((entry) => OFFER_KEYS.some((key) => valueOf(entry, key) !== undefined))
  );
}

/** Own, and no getter of an object that is not JSON. */
function valueOf(object: unknown, key: string): unknown {
  return typeof object === 'object' && object !== null
    ? Object.getOwnPropertyDescriptor(object, key)?.value
    : undefined;
}

/** A byte order mark before JSON is common enough, and harmless. */
function stripMark(text: string): string {
  return text.replace(/^\ufeff/, '').trimStart();
}

function readEnvelope(envelope: JsonObject): PaymentRequired | Malformed {
  const { accepts, x402Version: version, error, resource, extensions } = fieldsOf(envelope);
  if (!isJsonList(accepts) || accepts.length === 0)
    return { malformed: 'accepts is missing or empty' };
  if (accepts.length > MAX_ACCEPTS)
    return { malformed: `accepts has more than ${MAX_ACCEPTS} entries` };
  if (!accepts.every(isJsonObject))
    return { malformed: 'accepts holds something that is not an object' };
  const x402Version = readVersion(version, accepts);
  if (x402Version === undefined) return { malformed: 'x402Version is neither 1 nor 2' };
  return Object.freeze({
    x402Version,
    accepts,
    ...(typeof error === 'string' ? { error } : {}),
    ...(isJsonObject(resource) ? { resource } : {}),
    ...(isJsonObject(extensions) ? { extensions } : {}),
  });
}

/** Sellers that leave the version out are told apart by the name of the amount (x402.md 5.2, 1). */
function readVersion(
  version: JsonValue | undefined,
  entries: readonly PaymentRequirements[],
): X402Version | undefined {
  if (version === 1 || version === 2) return version;
  if (version !== undefined && version !== null) return undefined;
  const isOld = (entry: PaymentRequirements) => {
    const { maxAmountRequired, amount } = fieldsOf(entry);
    return maxAmountRequired !== undefined && amount === undefined;
  };
  return entries.some(isOld) ? 1 : 2;
}

function isReadable(found: PaymentRequired | Malformed | undefined): found is PaymentRequired {
  return found !== undefined && !('malformed' in found);
}

function withUrl(paymentRequired: PaymentRequired, url: string | undefined): PaymentRequired {
  const terms = Object.freeze(
    url === undefined ? { ...paymentRequired } : { ...paymentRequired, url },
  );
  parsed.add(terms);
  return terms;
}
