import { ConfigError } from '../errors.js';

/** Returns the error for an option of the caller; `rule` completes the sentence. */
export function refuse(option: string, rule: string, kind = 'Option'): ConfigError {
  return new ConfigError('invalid_option', `${kind} ${option} ${rule}`, { details: { option } });
}

/** Throws `ConfigError` (`invalid_option`) unless a value has fields: a list or a Map has none. */
export function requireObject(value: unknown, option: string): asserts value is object {
  if (typeof value !== 'object' || value === null || Symbol.iterator in value)
    throw refuse(option, 'must be an object.');
}

/**
 * Throws `ConfigError` (`invalid_option`) for an unknown option, because a misspelt option, such as
 * a cap, would silently have no effect.
 *
 * @param path - Name of the option that holds these options, such as `policy`.
 * @param inner - Options that these options hold, by name: an option of them may stand too high.
 */
export function refuseUnknown(
  options: unknown,
  names: readonly string[],
  path?: string,
  inner: Readonly<Record<string, readonly string[]>> = {},
): void {
  const prefix = path === undefined ? '' : `${path}.`;
  requireObject(options, path ?? 'options');
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const holder = Object.keys(inner).find((name) => inner[name]?.includes(unknown));
  const meant = holder === undefined ? nearest(unknown, names) : `${holder}.${unknown}`;
  throw refuse(`${prefix}${unknown}`, ruleOfNames(names, meant && `${prefix}${meant}`));
}

/** Returns the rest of a sentence about an unknown name: which known name to use instead. */
export function ruleOfNames(names: readonly string[], meant: string | undefined): string {
  return meant === undefined
    ? `is not known. Use one of ${names.join(', ')}.`
    : `is not known. Did you mean ${meant}? Correct its name.`;
}

/** Returns the nearest known name. A slip changes two letters at most; in a short name, one. */
export function nearest(name: string, names: readonly string[]): string | undefined {
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
 * Returns the number of letters to insert, remove or change to turn one word into the other
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
