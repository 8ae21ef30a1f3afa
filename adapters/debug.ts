import type { Logger } from '../src/events.js';

/** Matches `DEBUG=exact-change`, alone or in a list, as the package `debug` does. */
const ENABLED = /(?:^|[\s,])(?:\*|exact-change\*?)(?:$|[\s,])/;

/**
 * Returns a logger that prints the steps of calls to standard error, if `DEBUG` enables it. Returns
 * undefined if not, or without an environment, as in browsers.
 */
export function debugLogger(): Logger | undefined {
  const { process } = globalThis as {
    process?: { env?: Record<string, string | undefined>; stderr?: { write(text: string): void } };
  };
  const { env, stderr } = process ?? {};
  if (stderr === undefined || !ENABLED.test(env?.['DEBUG'] ?? '')) return undefined;
  return { debug: (line) => stderr.write(`${line}\n`) };
}
