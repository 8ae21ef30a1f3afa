import type { ConfigError } from '../errors.js';
import { refuse } from '../internal/options.js';
import type { Operation } from './operations.js';

const WHOLE = /^(?:0|[1-9][0-9]{0,14})$/;

/**
 * Reads a query as the request object of its operation. A field may repeat only if it is a list,
 * because the meaning of two values is not clear. Throws `invalid_option`.
 */
export function readQuery(
  { query }: Pick<Operation, 'query'>,
  search: URLSearchParams,
): Record<string, unknown> {
  const { lists = [], numbers = [] } = query ?? {};
  const names = [...new Set(search.keys())];
  const entries = names.map((name): [string, unknown] => {
    const values = search.getAll(name);
    const [value = ''] = values;
    if (lists.includes(name)) return [name, values];
    if (values.length > 1) throw repeated(name);
    return [name, numbers.includes(name) && WHOLE.test(value) ? Number(value) : value];
  });
  return Object.fromEntries(entries);
}

/** Writes a request as the query that {@link readQuery} reads. */
export function writeQuery(request: object): URLSearchParams {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(request) as [string, unknown][]) {
    if (value === undefined) continue;
    for (const item of Array.isArray(value) ? value : [value]) search.append(name, String(item));
  }
  return search;
}

function repeated(name: string): ConfigError {
  return refuse(name.slice(0, 100), 'is given more than once. Give it once.', 'Field');
}
