import { ProtocolError } from '../../errors.js';
import type { JsonObject, PaymentRequired } from '../types.js';
import { copyJson, isJsonObject, JSON_LIMITS, readJson, type JsonReading } from './json.js';
import {
  fromHeader,
  isReadable,
  readEnvelope,
  withUrl,
  type Malformed,
  type PaymentRequiredParts,
} from './parse.js';

/**
 * Of an offer's keys, those that nothing else uses; `scheme` and `network` are words of card
 * payments too.
 */
const OFFER_KEYS = ['payTo', 'asset', 'maxAmountRequired'] as const;

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
