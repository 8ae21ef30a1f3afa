import * as v from 'valibot';
import { cleanText, ConfigError } from '../errors.js';
import type { Operation } from './operations.js';

const SHOWN_PATH = 100;

/**
 * A value, if it fits; otherwise where it does not, and the rule that it breaks there. Neither
 * quotes the value.
 */
export type Reading<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly path: string; readonly rule: string };

/**
 * Reads a value of a stranger. What the schema does not name is refused or left out, as the schema
 * has it.
 */
export function readAs<T>(schema: v.GenericSchema<unknown, T>, value: unknown): Reading<T> {
  const result = v.safeParse(schema, value, { abortEarly: true, abortPipeEarly: true });
  if (result.success) return { ok: true, value: result.output };
  const [issue] = result.issues;
  return { ok: false, path: pathOf(issue), rule: ruleOf(issue) };
}

/** The request of an operation. Throws `ConfigError` (`invalid_option`), which names the field. */
export function readRequest<Q>(
  { request, query }: Pick<Operation<Q>, 'request' | 'query'>,
  value: unknown,
): Q {
  // To the schemas a list is an object, with nothing of what is asked for.
  const reading = readAs(request, Array.isArray(value) ? undefined : value);
  if (reading.ok) return reading.value;
  // Of a query, the field is what its sender knows.
  const path = query === undefined ? reading.path : reading.path.replace(/[.[].*/s, '');
  const option = path === '' ? 'request' : path;
  throw new ConfigError('invalid_option', `Field ${option} ${reading.rule}`, {
    details: { option },
  });
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
