/**
 * Converts a value for JSON: amounts to decimal strings, bytes to base64, maps to objects. It
 * leaves out undefined fields; in a list, undefined becomes null.
 */
export function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Map) return plain(Object.fromEntries(value));
  if (value instanceof Set) return plain([...value]);
  if (Array.isArray(value)) return value.map((item: unknown) => plain(item) ?? null);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== undefined && typeof field !== 'function')
      .map(([key, field]) => [key, plain(field)]),
  );
}
