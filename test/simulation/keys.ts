import { createHash } from 'node:crypto';

const keyOf = (name: string): string =>
  createHash('sha256').update(`exact-change simulation: ${name}`).digest('hex').slice(0, 24);

export const JUPITER_KEY = keyOf('jupiter');
/** API keys in the URLs of the nodes, as RPC providers use them. */
export const NODE_KEYS: readonly string[] = ['0', '1', '2'].map((name) => keyOf(`node ${name}`));

/** Returns a description of the API key in a text that a caller sees, or undefined. */
export function leakIn(text: string): string | undefined {
  const key = [JUPITER_KEY, ...NODE_KEYS].find((known) => text.includes(known));
  if (key === undefined) return undefined;
  const at = text.indexOf(key);
  return `a key is in ${text.slice(Math.max(0, at - 100), at + key.length)}`;
}

/** Returns all texts of an error: message, stack, JSON, causes and errors within it. */
export function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const errors = error instanceof AggregateError ? error.errors : [];
  return [
    error.message,
    error.stack,
    JSON.stringify(error),
    ...[error.cause, ...errors].map((cause) => (cause === undefined ? '' : textOf(cause))),
  ].join('\n');
}
