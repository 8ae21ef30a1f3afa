import type {
  JsonObject,
  JsonValue,
  PaymentRequired,
  PaymentRequirements,
  X402Version,
} from '../types.js';
import { decodeHeader, fieldsOf, isJsonList, isJsonObject } from './json.js';

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
 * What this module has read: everything else that looks like it is a stranger's word, its `url`
 * too.
 */
const parsed = new WeakSet();

/** Whether terms are of our own reading, and so bounded, frozen, and from where they say. */
export function isParsed(terms: object): terms is PaymentRequired {
  return parsed.has(terms);
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

/** By shape, because Headers may come from another realm or a fetch library. */
function isHeaders(headers: Headers | Readonly<Record<string, string>>): headers is Headers {
  return 'get' in headers && typeof headers['get'] === 'function';
}

/** As many headers are remembered, and none that is longer. */
const MOST_HEADERS = 16;
const MOST_CHARACTERS = 8_192;
/** What headers were read as, by their text, deeply frozen: a seller mostly repeats itself. */
const known = new Map<string, PaymentRequired>();

export function fromHeader(
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
