import { ConfigError } from '../errors.js';

/** The error for an option of the caller's; `rule` completes the sentence. */
export function refuse(option: string, rule: string): ConfigError {
  return new ConfigError('invalid_option', `Option ${option} ${rule}`, { details: { option } });
}

/** Throws `ConfigError` (`invalid_option`) for a list or a Map too: neither has fields. */
export function requireObject(value: unknown, option: string): asserts value is object {
  if (typeof value !== 'object' || value === null || Symbol.iterator in value)
    throw refuse(option, 'must be an object.');
}

/**
 * A misspelt option, a cap above all, would silently be none. Throws `ConfigError`
 * (`invalid_option`).
 *
 * @param path - Of the object that the options are in, if it is itself an option: `policy`.
 */
export function refuseUnknown(options: unknown, names: readonly string[], path?: string): void {
  const prefix = path === undefined ? '' : `${path}.`;
  requireObject(options, path ?? 'options');
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const meant = nearest(unknown, names);
  throw refuse(
    `${prefix}${unknown}`,
    meant === undefined
      ? `is not known. Use one of ${names.join(', ')}.`
      : `is not known. Did you mean ${prefix}${meant}? Correct its name.`,
  );
}

/** A slip of the finger is two letters at most; in a short name, one. */
function nearest(name: string, names: readonly string[]): string | undefined {
  const distances = names.map((known) => ({
    known,
    distance: editDistance(name.toLowerCase(), known.toLowerCase()),
  }));
  const [best] = distances.sort((a, b) => a.distance - b.distance);
  return best !== undefined && best.distance <= Math.min(2, Math.floor(name.length / 3))
    ? best.known
    : undefined;
}

/**
 * How many letters have to be put in, taken out or changed to make one word of the other
 * (Levenshtein).
 */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let index = 0; index < from.length; index += 1) {
    const next = [index + 1];
    for (let at = 1; at <= to.length; at += 1) {
      const change = (row[at - 1] ?? 0) + (from[index] === to[at - 1] ? 0 : 1);
      next.push(Math.min((row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1, change));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
