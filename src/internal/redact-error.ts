import { hasSecrets, redact } from './redact.js';

/** Depth of causes that is read, because a chain of causes may have no end. */
const DEEPEST = 16;
/** The most objects of an error that are read, and the most errors of a list. */
const MOST_PARTS = 1_000;
const MOST_ERRORS = 64;
/** Fields that are read by name: an error may inherit them, or hide them from a listing. */
const NAMED = ['name', 'message', 'stack', 'code', 'cause', 'errors'];

/** Marks errors of this library. Their text and their causes are clean already. */
export const BRAND: unique symbol = Symbol.for('exact-change.error');

/**
 * Returns a foreign error as it is if it shows no secret. Otherwise returns a copy of its name,
 * message, stack, code, cause and errors, without the secrets. The copy leaves out values that
 * cannot be read, such as objects of a class. Does not change the error, and never throws.
 */
export function redactError(error: unknown): unknown {
  if (!hasSecrets()) return error;
  try {
    return redacted(error, new Map(), 0);
  } catch {
    // To read the error may run foreign code that throws, in a getter or a proxy.
    return undefined;
  }
}

function redacted(value: unknown, copies: Map<object, Error>, depth: number): unknown {
  if (typeof value === 'string') return redact(value);
  if (isClean(value, new Set(), depth)) return value;
  return isError(value) && depth <= DEEPEST
    ? (copies.get(value) ?? copyOf(value, copies, depth))
    : undefined;
}

function copyOf(error: object, copies: Map<object, Error>, depth: number): Error {
  const [name, message, stack, code, cause, errors]: readonly unknown[] = NAMED.map(
    (part): unknown => Reflect.get(error, part),
  );
  const copy = new Error(typeof message === 'string' ? redact(message) : '');
  // Note the copy before its fields, because an error may be its own cause.
  copies.set(error, copy);
  const inner = (part: unknown) => redacted(part, copies, depth + 1);
  const fields: Readonly<Record<string, unknown>> = {
    name: typeof name === 'string' ? redact(name) : undefined,
    stack: typeof stack === 'string' ? redact(stack) : undefined,
    code: inner(code),
    cause: inner(cause),
    errors: Array.isArray(errors) ? errors.slice(0, MOST_ERRORS).map(inner) : undefined,
  };
  for (const [part, value] of Object.entries(fields))
    if (value !== undefined)
      Object.defineProperty(copy, part, {
        value,
        enumerable: part === 'code',
        writable: true,
        configurable: true,
      });
  return copy;
}

/** Whether every part that a value shows can be read, and no part shows a secret. */
function isClean(value: unknown, seen: Set<object>, depth: number): boolean {
  if (typeof value === 'string') return redact(value) === value;
  if (typeof value !== 'object' || value === null || BRAND in value || seen.has(value)) return true;
  seen.add(value);
  if (depth > DEEPEST || seen.size > MOST_PARTS) return false;
  const names = isError(value)
    ? [...NAMED, ...Object.getOwnPropertyNames(value)]
    : isTransparent(value)
      ? Object.keys(value)
      : undefined;
  return (
    names?.every(
      (name) => isClean(name, seen, depth) && isClean(Reflect.get(value, name), seen, depth + 1),
    ) ?? false
  );
}

function isError(value: unknown): value is object {
  return (
    value instanceof Error ||
    /^\[object (?:Error|DOMException)\]$/.test(Object.prototype.toString.call(value))
  );
}

function isTransparent(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (
    Array.isArray(value) ||
    typeof prototype !== 'object' ||
    prototype === null ||
    Object.getPrototypeOf(prototype) === null
  );
}
