export type UnknownRecord = Readonly<Record<string, unknown>>;

/** Whether a value has properties of its own: an object of any class, or a list. */
export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Whether a value, such as parsed JSON, is an object with fields: no list, and not null. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !Array.isArray(value);
}

/** Whether a value is an object that inherits no fields, so that it can be copied. */
export function isPlain(value: unknown): boolean {
  if (!isObject(value)) return false;
  const prototype: unknown = Reflect.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
