import { setNewest } from '../../internal/newest.js';
import type {
  JsonObject,
  JsonValue,
  PaymentRequired,
  PaymentRequirements,
  X402Version,
} from '../types.js';
import { decodeHeader, fieldsOf, isJsonList, isJsonObject } from './json.js';

/** The known parts of a 402; any part may be missing. */
export interface PaymentRequiredParts {
  readonly url?: string | undefined;
  readonly headers?: Headers | Readonly<Record<string, string>> | undefined;
  /** The text of the body, or the object parsed from it. */
  readonly body?: string | object | undefined;
}

/** Why a payment request cannot be read, in our words. */
export interface Malformed {
  readonly malformed: string;
}

const MAX_ACCEPTS = 32;
/**
 * Terms that this module has read. An object of the same shape that is not in here comes from
 * outside, so its `url` proves nothing.
 */
const parsed = new WeakSet();

/** Whether this module read the terms: then they are bounded and frozen, and `url` is true. */
export function isParsed(terms: object): terms is PaymentRequired {
  return parsed.has(terms);
}

/** Returns the value of a header, in any case; repeated headers are joined as fetch joins them. */
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

/** Checks the shape, because `Headers` may come from another realm or from a fetch library. */
function isHeaders(headers: Headers | Readonly<Record<string, string>>): headers is Headers {
  return 'get' in headers && typeof headers['get'] === 'function';
}

/** Limits of the cache: number of headers, and characters of one header. */
const MOST_HEADERS = 16;
const MOST_CHARACTERS = 8_192;
/** Terms by the text of their header, deeply frozen, because a seller mostly repeats its header. */
const known = new Map<string, PaymentRequired>();

export function fromHeader(
  parts: PaymentRequiredParts,
  name: string,
): PaymentRequired | Malformed | undefined {
  const value = headerValue(parts.headers, name);
  if (value === undefined) return undefined;
  const cached = known.get(value);
  if (cached !== undefined) return cached;
  const json = decodeHeader(value);
  if (json === undefined)
    return { malformed: 'its header is not base64 of plain JSON within our bounds' };
  const read = readEnvelope(json);
  if (isReadable(read) && value.length <= MOST_CHARACTERS)
    setNewest(known, value, read, MOST_HEADERS);
  return read;
}

export function readEnvelope(envelope: JsonObject): PaymentRequired | Malformed {
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

/** Tells the version by the name of the amount if a seller leaves it out (x402.md 5.2, 1). */
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

export function isReadable(
  found: PaymentRequired | Malformed | undefined,
): found is PaymentRequired {
  return found !== undefined && !('malformed' in found);
}

export function withUrl(
  paymentRequired: PaymentRequired,
  url: string | undefined,
): PaymentRequired {
  const terms = Object.freeze(
    url === undefined ? { ...paymentRequired } : { ...paymentRequired, url },
  );
  parsed.add(terms);
  return terms;
}
