import { ProtocolError } from '../../errors.js';
import { isObject } from '../../internal/record.js';
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
 * Keys of an offer that only payment requests use. `scheme` and `network` are absent, because card
 * payments use them too.
 */
const OFFER_KEYS = ['payTo', 'asset', 'maxAmountRequired'] as const;

export function readTerms(parts: PaymentRequiredParts): PaymentRequired | undefined {
  const found = findPaymentRequired(parts);
  if (found !== undefined && 'malformed' in found) throw malformedPaymentRequired(found.malformed);
  return found;
}

/** Returns what {@link readTerms} returns, but a malformed request as a value. */
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
  const legacyHeader = fromHeader(parts, 'x-payment-required');
  if (isReadable(legacyHeader)) return withUrl(legacyHeader, parts.url);
  return header ?? body ?? legacyHeader;
}

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

/** Whether text is a payment request, even if it cannot be read as terms. */
export function claimsPayment(text: string): boolean {
  const json = stripMark(text.slice(0, JSON_LIMITS.characters));
  if (!json.startsWith('{')) return false;
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) && isClaim(value);
  } catch {
    // The JSON is broken or cut off, so look for the key that no other protocol uses.
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
  if (typeof body !== 'string') return isObject(body) ? copyJson(body) : undefined;
  const text = stripMark(body);
  return text.startsWith('{') ? readJson(text) : undefined;
}

/**
 * Whether an object is meant as a payment request. `accepts` alone does not tell: a list of card
 * types that a terminal takes has that name too.
 */
function isClaim(body: object): boolean {
  if (Object.prototype.hasOwnProperty.call(body, 'x402Version')) return true;
  const accepts = valueOf(body, 'accepts');
  return (
    Array.isArray(accepts) &&
    accepts.some((entry) => OFFER_KEYS.some((key) => valueOf(entry, key) !== undefined))
  );
}

/** Returns an own value, and calls no getter: a caller's object need not be plain JSON. */
function valueOf(object: unknown, key: string): unknown {
  return isObject(object) ? Object.getOwnPropertyDescriptor(object, key)?.value : undefined;
}

/** Removes a byte order mark: it is common before JSON, and harmless. */
function stripMark(text: string): string {
  return text.replace(/^\ufeff/, '').trimStart();
}
