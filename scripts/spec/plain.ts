/**
 * A value as JSON: amounts as decimal strings, bytes as base64, maps as objects. What is undefined
 * is left out, and null in a list.
 */
export function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Map) return plain(Object.fromEntries(value));
  if (value instanceof Set) return plain([...value]);
  if (Array.isArray(value)) return value.map((one: unknown) => plain(one) ?? null);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== undefined && typeof one !== 'function')
      .map(([key, one]) => [key, plain(one)]),
  );
}
