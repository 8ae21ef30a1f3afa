import { hasSecrets, redact } from './redact.js';

/** Further in nothing is read: a list of causes may have no end. */
const DEEPEST = 16;
/** Objects in one error, and errors in one list. */
const MOST_PARTS = 1_000;
const MOST_ERRORS = 64;
/** What an error shows of itself, if it has it: some are not its own, and some not to be listed. */
const NAMED = ['name', 'message', 'stack', 'code', 'cause', 'errors'];

/** Tells errors of ours. What they say is clean, and their causes were made so before. */
export const BRAND: unique symbol = Symbol.for('exact-change.error');

/**
 * An error of others, or a copy without the secrets that it shows: of its name, message, stack,
 * code, cause and errors. What cannot be looked into, such as an object of a class, may show one:
 * the copy is without it. Changes nothing of the error, and never throws.
 */
export function redactError(error: unknown): unknown {
  if (!hasSecrets()) return error;
  try {
    return redacted(error, new Map(), 0);
  } catch {
    // Reading it ran code of others, of a getter or a proxy.
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
  // First: it may be a cause of its own.
  copies.set(error, copy);
  const inner = (part: unknown) => redacted(part, copies, depth + 1);
  const all: Readonly<Record<string, unknown>> = {
    name: typeof name === 'string' ? redact(name) : undefined,
    stack: typeof stack === 'string' ? redact(stack) : undefined,
    code: inner(code),
    cause: inner(cause),
    errors: Array.isArray(errors) ? errors.slice(0, MOST_ERRORS).map(inner) : undefined,
  };
  for (const [part, value] of Object.entries(all))
    if (value !== undefined)
      Object.defineProperty(copy, part, {
        value,
        enumerable: part === 'code',
        writable: true,
        configurable: true,
      });
  return copy;
}

/** Whether all that a value shows can be read, and none of it is a secret. */
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

/** Of any realm. */
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
