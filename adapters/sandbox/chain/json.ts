/** JSON of a JSON-RPC node; its integers may be larger than a double can hold. */
export type Json =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly Json[]
  | { readonly [key: string]: Json | undefined };

/** Encodes JSON text; a bigint becomes a bare integer, as Solana's nodes write u64. */
export function encodeJson(value: Json): string {
  if (typeof value === 'bigint') return value.toString();
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (isList(value)) return `[${value.map(encodeJson).join(',')}]`;
  const fields: string[] = [];
  for (const [key, field] of Object.entries(value)) {
    if (field !== undefined) fields.push(`${JSON.stringify(key)}:${encodeJson(field)}`);
  }
  return `{${fields.join(',')}}`;
}

/** Works like `Array.isArray`, and keeps the type of the items. */
export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
