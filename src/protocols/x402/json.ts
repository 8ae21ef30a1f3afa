import type { JsonObject, JsonValue } from '../types.js';

/**
 * What a seller's JSON may be at most: far more than any honest 402, little enough to be cheap
 * (security.md P9).
 */
export const JSON_LIMITS = Object.freeze({ characters: 65_536, depth: 16, string: 4_096 });

export type JsonReading =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly reason: string };

/** Keys that reach a prototype when copied without care. */
const FORBIDDEN_KEYS: readonly string[] = ['__proto__', 'constructor', 'prototype'];
/**
 * Keys whose numbers are money: anything but a plain integer stays text there, so that it is judged
 * and never rounded.
 */
const MONEY_KEYS: readonly string[] = ['amount', 'maxAmountRequired'];

const SPACE = /[ \t\n\r]*/y;
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/sy;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const LITERAL = /true|false|null/y;
const PLAIN_INTEGER = /^(?:0|[1-9][0-9]*)$/;

class Unreadable extends Error {}

/**
 * Parses JSON of a stranger: like `JSON.parse`, but with bounds on size and depth, no key twice in
 * one object, no key that names a prototype, and a deeply frozen result.
 */
export function readJson(text: string): JsonReading {
  return guarded(() => {
    if (text.length > JSON_LIMITS.characters) throw new Unreadable('it is too large');
    return parseAsWritten(text) ?? parse(text);
  });
}

/** The same rules for a value that its caller has parsed; the result is a frozen copy. */
export function copyJson(value: unknown): JsonReading {
  return guarded(() => copy(value, 1, { characters: JSON_LIMITS.characters }));
}

/**
 * The own fields of an object, and none of anything else; inherited ones, also of a polluted
 * `Object.prototype`, are not among them.
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
    // Getters and proxies of a foreign object may throw anything.
    return {
      ok: false,
      reason: error instanceof Unreadable ? error.message : 'it is not plain JSON',
    };
  }
}

/** A number that is money by its key: only its text says whether it is whole. */
const MONEY_NUMBER = /"(?:amount|maxAmountRequired)":[-0-9]/;

/**
 * The same for what `JSON.stringify` has written, as most of it is: several times as fast. What it
 * writes names no key twice and rounds no number; of all else, undefined.
 */
function parseAsWritten(text: string): JsonValue | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return MONEY_NUMBER.test(text) || JSON.stringify(value) !== text
      ? undefined
      : copy(value, 1, { characters: JSON_LIMITS.characters });
  } catch {
    // Why it cannot be taken is for the other reading to say.
    return undefined;
  }
}

function parse(text: string): JsonValue {
  let at = 0;

  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const token = pattern.exec(text)?.[0];
    if (token !== undefined) at += token.length;
    return token;
  };
  const takeMark = (mark: string): boolean => {
    take(SPACE);
    if (text[at] !== mark) return false;
    at += 1;
    return true;
  };
  const readString = (): string => {
    const token = take(STRING);
    if (token === undefined) throw notJson();
    return boundedString(unquote(token));
  };
  const readList = (depth: number): JsonValue => {
    const list: JsonValue[] = [];
    if (takeMark(']')) return Object.freeze(list);
    do list.push(readValue(depth + 1, ''));
    while (takeMark(','));
    if (!takeMark(']')) throw notJson();
    return Object.freeze(list);
  };
  const readObject = (depth: number): JsonValue => {
    const object: Record<string, JsonValue> = {};
    if (takeMark('}')) return Object.freeze(object);
    do {
      take(SPACE);
      const key = allowedKey(readString());
      if (Object.prototype.hasOwnProperty.call(object, key))
        throw new Unreadable('it names a key twice');
      if (!takeMark(':')) throw notJson();
      object[key] = readValue(depth + 1, key);
    } while (takeMark(','));
    if (!takeMark('}')) throw notJson();
    return Object.freeze(object);
  };
  const readValue = (depth: number, key: string): JsonValue => {
    if (takeMark('{')) return readObject(boundedDepth(depth));
    if (takeMark('[')) return readList(boundedDepth(depth));
    if (text[at] === '"') return readString();
    const number = take(NUMBER);
    if (number !== undefined) return readNumber(number, key);
    const literal = take(LITERAL);
    if (literal === undefined) throw notJson();
    return literal === 'null' ? null : literal === 'true';
  };

  const value = readValue(1, '');
  take(SPACE);
  if (at !== text.length) throw notJson();
  return value;
}

function readNumber(token: string, key: string): JsonValue {
  if (MONEY_KEYS.includes(key) && !PLAIN_INTEGER.test(token)) return token;
  return finite(Number(token));
}

function copy(value: unknown, depth: number, budget: { characters: number }): JsonValue {
  budget.characters -= typeof value === 'string' ? value.length + 2 : 2;
  if (budget.characters < 0) throw new Unreadable('it is too large');
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') return boundedString(value);
  if (typeof value === 'number') return finite(value);
  if (typeof value !== 'object') throw new Unreadable('it is not plain JSON');
  boundedDepth(depth);
  if (Array.isArray(value)) {
    // Checked before walking: a sparse array is as long as it claims, and costs nothing to claim.
    if (value.length > budget.characters) throw new Unreadable('it is too large');
    return Object.freeze(Array.from(value, (item: unknown) => copy(item, depth + 1, budget)));
  }
  const object: Record<string, JsonValue> = {};
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    budget.characters -= key.length + 2;
    object[allowedKey(boundedString(key))] = copy(item, depth + 1, budget);
  }
  return Object.freeze(object);
}

function unquote(token: string): string {
  try {
    const value: unknown = JSON.parse(token);
    return typeof value === 'string' ? value : '';
  } catch {
    throw notJson();
  }
}

function boundedString(text: string): string {
  if (text.length > JSON_LIMITS.string) throw new Unreadable('it holds a text that is too long');
  return text;
}

function boundedDepth(depth: number): number {
  if (depth > JSON_LIMITS.depth) throw new Unreadable('it is nested too deeply');
  return depth;
}

function finite(value: number): number {
  // JSON has no infinity, so such a number could not be echoed.
  if (!Number.isFinite(value)) throw new Unreadable('it holds a number out of range');
  return value;
}

function allowedKey(key: string): string {
  if (FORBIDDEN_KEYS.includes(key)) throw new Unreadable('it holds a forbidden key');
  return key;
}

function notJson(): Unreadable {
  return new Unreadable('it is not JSON');
}
