import { createHash } from 'node:crypto';

const keyOf = (name: string): string =>
  createHash('sha256').update(`exact-change simulation: ${name}`).digest('hex').slice(0, 24);

export const JUPITER_KEY = keyOf('jupiter');
/** In the address of each node, as providers have them. */
export const NODE_KEYS: readonly string[] = ['0', '1', '2'].map((name) => keyOf(`node ${name}`));

/** What is wrong with a text that a caller gets to see. */
export function leakIn(text: string): string | undefined {
  const key = [JUPITER_KEY, ...NODE_KEYS].find((one) => text.includes(one));
  if (key === undefined) return undefined;
  const at = text.indexOf(key);
  return `a key is in ${text.slice(Math.max(0, at - 100), at + key.length)}`;
}

/** All that an error shows. */
export function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const errors = error instanceof AggregateError ? error.errors : [];
  return [
    error.message,
    error.stack,
    JSON.stringify(error),
    ...[error.cause, ...errors].map((one) => (one === undefined ? '' : textOf(one))),
  ].join('\n');
}
