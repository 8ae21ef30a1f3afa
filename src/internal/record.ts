/** An object as parsed from JSON. */
export type UnknownRecord = Readonly<Record<string, unknown>>;

/** Whether a value, such as parsed JSON, is an object with fields: no list, and not null. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
