import { base64, base64url } from '../../internal/bytes.js';
import type { JsonObject } from '../types.js';
import { isJsonObject, JSON_LIMITS, readJson } from './json.js';

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const BASE64URL = /^[A-Za-z0-9_-]+={0,2}$/;
/** Base64 makes four characters of three bytes. */
const MAX_VALUE = Math.ceil((JSON_LIMITS.characters * 4) / 3);

/**
 * Decodes a payment header: base64 of UTF-8 JSON in either alphabet, padded or not, or the JSON
 * itself.
 * Undefined if it is anything else, also two values that a proxy has joined by a comma.
 */
export function decodeHeader(value: string): JsonObject | undefined {
  const trimmed = value.trim();
  if (trimmed.length > MAX_VALUE) return undefined;
  const text = trimmed.startsWith('{') ? fromByteString(trimmed) : decodeBase64(trimmed);
  const json = text === undefined ? undefined : readJson(text);
  return json?.ok === true && isJsonObject(json.value) ? json.value : undefined;
}

/** Encodes what a payment header carries: padded standard base64 of UTF-8 JSON. */
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

/** Fetch hands header bytes over one character each: raw UTF-8 JSON must be put together again. */
function fromByteString(value: string): string {
  if (/[\u0100-\uffff]/.test(value)) return value;
  try {
    return decodeUtf8(Uint8Array.from(value, (character) => character.charCodeAt(0)));
  } catch {
    return value;
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}
