import * as v from 'valibot';
import { cleanText } from '../errors.js';
import { refuse } from '../internal/options.js';
import type { Operation } from './operations.js';

const SHOWN_PATH = 100;

/**
 * A value that fits its schema, or the path of the first misfit and the rule that it breaks.
 * Neither path nor rule quotes the value.
 */
export type Reading<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly path: string; readonly rule: string };

/** Reads an untrusted value. The schema decides whether unknown fields are refused or left out. */
export function readAs<T>(schema: v.GenericSchema<unknown, T>, value: unknown): Reading<T> {
  const result = v.safeParse(schema, value, { abortEarly: true, abortPipeEarly: true });
  if (result.success) return { ok: true, value: result.output };
  const [issue] = result.issues;
  return { ok: false, path: pathOf(issue), rule: ruleOf(issue) };
}

/**
 * Reads the request of an operation. Throws `ConfigError` (`invalid_option`) with the field's name.
 */
export function readRequest<Q>(
  { request, query }: Pick<Operation<Q>, 'request' | 'query'>,
  value: unknown,
): Q {
  // A schema would take a list as an object without fields.
  const reading = readAs(request, Array.isArray(value) ? undefined : value);
  if (reading.ok) return reading.value;
  // For a query, name only the field, because its sender has no nested values.
  const path = query === undefined ? reading.path : reading.path.replace(/[.[].*/s, '');
  throw refuse(path === '' ? 'request' : path, reading.rule, 'Field');
}

function pathOf({ path }: v.BaseIssue<unknown>): string {
  const steps = (path ?? []).map(({ key }) =>
    typeof key === 'number' ? `[${key}]` : `.${String(key)}`,
  );
  return cleanText(steps.join('').replace(/^\./, '')).slice(0, SHOWN_PATH);
}

function ruleOf({ type, expected, received, message }: v.BaseIssue<unknown>): string {
  if (type === 'strict_object' && expected === 'never') return 'is not known. Check its spelling.';
  if (/object$/.test(type) && received === 'undefined') return 'is missing.';
  return message;
}
