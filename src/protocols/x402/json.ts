import { base64, base64url } from '../../internal/bytes.js';
import { isRecord, type UnknownRecord } from '../../internal/record.js';
import { decodeUtf8 } from '../../internal/utf8.js';
import type { JsonObject, JsonValue } from '../types.js';

/**
 * Limits on a seller's JSON: far more than an honest 402 needs, and little enough to be cheap
 * (security.md P9).
 */
export const JSON_LIMITS = Object.freeze({ characters: 65_536, depth: 16, string: 4_096 });

export type JsonReading =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly reason: string };

/** Keys that can change a prototype if an object is copied carelessly. */
const FORBIDDEN_KEYS: readonly string[] = ['__proto__', 'constructor', 'prototype'];
/**
 * Matches a string of valid JSON. If it is a key: also the colon, and the value if that is a number
 * but no plain integer.
 */
const TEXT = /("[^"\\]*(?:\\.[^"\\]*)*"(\s*:\s*)?)((?!\d+[\s,}])[-\d][-+.eE\d]*)?/gs;

class Unreadable extends Error {}

/**
 * Parses untrusted JSON: like `JSON.parse`, but it bounds size and depth. It rejects duplicate keys
 * and keys that name a prototype. The result is deeply frozen.
 */
export function readJson(text: string): JsonReading {
  return guarded(() => parse(text));
}

/** Applies the rules of {@link readJson} to a parsed value; the result is a frozen copy. */
export function copyJson(value: unknown): JsonReading {
  return guarded(() => copy(value, 1, { characters: JSON_LIMITS.characters, keys: 0 }));
}

/**
 * Returns the own fields of an object, and no fields for any other value. Inherited fields are left
 * out, so a polluted `Object.prototype` adds none.
 */
export function fieldsOf(
  value: JsonValue | undefined,
): Readonly<Record<string, JsonValue | undefined>> {
  return isJsonObject(value) ? { __proto__: null, ...value } : { __proto__: null };
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isJsonList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function guarded(read: () => JsonValue): JsonReading {
  try {
    return { ok: true, value: read() };
  } catch (error) {
    if (error instanceof Unreadable) return { ok: false, reason: error.message };
    // Getters and proxies of a caller's object may throw anything.
    return {
      ok: false,
      reason: error instanceof SyntaxError ? 'it is not JSON' : 'it is not plain JSON',
    };
  }
}

/** Parses and checks. `JSON.parse` hides duplicate keys and rounds, so the text is searched too. */
function parse(text: string): JsonValue {
  if (text.length > JSON_LIMITS.characters) throw new Unreadable('it is too large');
  const rounded: unknown = JSON.parse(text);
  let keys = 0;
  const exact = text.replace(TEXT, (all, name: string, colon?: string, number?: string) => {
    if (colon !== undefined) keys += 1;
    return number === undefined ? all : `${name}"${number}"`;
  });
  if (exact !== text) keepPrices(rounded, JSON.parse(exact));
  const left = { characters: Infinity, keys };
  const value = copy(rounded, 1, left);
  if (left.keys > 0) throw new Unreadable('it names a key twice');
  return value;
}

/**
 * Takes the prices of `exact`, in which a number that is not a plain integer is text, so that it is
 * judged and never rounded. All else stays as `JSON.parse` gives it, because a payment echoes it.
 */
function keepPrices(terms: unknown, exact: unknown): void {
  const { accepts, x402Version } = ownFields(terms);
  const { accepts: written } = ownFields(exact);
  if (!Array.isArray(accepts) || !Array.isArray(written)) return;
  accepts.forEach((offer: unknown, index) => {
    const prices = ownFields(written[index]);
    for (const name of x402Version === 2 ? ['amount'] : ['amount', 'maxAmountRequired'])
      if (isRecord(offer) && typeof prices[name] === 'string') offer[name] = prices[name];
  });
}

/** Returns a copy of a parsed object without inherited fields, and no own fields else. */
function ownFields(value: unknown): UnknownRecord {
  return isRecord(value) ? { __proto__: null, ...value } : {};
}

/** @param left - Characters that the copy may still take, and keys of the text not copied yet. */
function copy(
  value: unknown,
  depth: number,
  left: { characters: number; keys: number },
): JsonValue {
  left.characters -= typeof value === 'string' ? value.length + 2 : 2;
  if (left.characters < 0) throw new Unreadable('it is too large');
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') return boundedString(value);
  if (typeof value === 'number') {
    // JSON has no infinity, so the payment could not echo this number.
    if (!Number.isFinite(value)) throw new Unreadable('it holds a number out of range');
    return value;
  }
  if (typeof value !== 'object') throw new Unreadable('it is not plain JSON');
  if (depth > JSON_LIMITS.depth) throw new Unreadable('it is nested too deeply');
  if (Array.isArray(value)) {
    // Check the length first: a sparse array may claim any length at no cost.
    if (value.length > left.characters) throw new Unreadable('it is too large');
    return Object.freeze(Array.from(value, (item: unknown) => copy(item, depth + 1, left)));
  }
  const object: Record<string, JsonValue> = {};
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    left.characters -= key.length + 2;
    left.keys -= 1;
    object[allowedKey(boundedString(key))] = copy(item, depth + 1, left);
  }
  return Object.freeze(object);
}

function boundedString(text: string): string {
  if (text.length > JSON_LIMITS.string) throw new Unreadable('it holds a text that is too long');
  return text;
}

function allowedKey(key: string): string {
  if (FORBIDDEN_KEYS.includes(key)) throw new Unreadable('it holds a forbidden key');
  return key;
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const BASE64URL = /^[A-Za-z0-9_-]+={0,2}$/;
/** The most characters of a header: base64 makes four characters of three bytes. */
const MAX_VALUE = Math.ceil((JSON_LIMITS.characters * 4) / 3);

/**
 * Decodes a payment header: base64 of UTF-8 JSON in either alphabet, padded or not, or plain JSON.
 * Undefined for anything else, such as two values that a proxy joined by a comma.
 */
export function decodeHeader(value: string): JsonObject | undefined {
  const trimmed = value.trim();
  if (trimmed.length > MAX_VALUE) return undefined;
  const text = trimmed.startsWith('{') ? fromByteString(trimmed) : decodeBase64(trimmed);
  const json = text === undefined ? undefined : readJson(text);
  return json?.ok === true && isJsonObject(json.value) ? json.value : undefined;
}

/** Encodes the content of a payment header: padded standard base64 of UTF-8 JSON. */
export function encodeHeader(value: unknown): string {
  return base64.encode(new TextEncoder().encode(JSON.stringify(value)));
}

function decodeBase64(value: string): string | undefined {
  const coder = BASE64.test(value) ? base64 : BASE64URL.test(value) ? base64url : undefined;
  if (coder === undefined) return undefined;
  const digits = value.replace(/=+$/, '');
  try {
    return decodeUtf8(coder.decode(digits.padEnd(Math.ceil(digits.length / 4) * 4, '=')));
  } catch {
    return undefined;
  }
}

/** Restores UTF-8 text: fetch returns a header's bytes as one character each. */
function fromByteString(value: string): string {
  if (/[\u0100-\uffff]/.test(value)) return value;
  try {
    return decodeUtf8(Uint8Array.from(value, (character) => character.charCodeAt(0)));
  } catch {
    return value;
  }
}
