import type { Logger } from '../src/events.js';

/** `DEBUG=exact-change`, alone or in a list, as the package debug reads it. */
const ASKED = /(?:^|[\s,])(?:\*|exact-change\*?)(?:$|[\s,])/;

/**
 * What prints the steps of calls to standard error, if the environment asks for it; undefined if it
 * does not, or if there is none, as in browsers.
 */
export function debugLogger(): Logger | undefined {
  const { process } = globalThis as {
    process?: { env?: Record<string, string | undefined>; stderr?: { write(text: string): void } };
  };
  const { env, stderr } = process ?? {};
  if (stderr === undefined || !ASKED.test(env?.['DEBUG'] ?? '')) return undefined;
  return { debug: (line) => stderr.write(`${line}\n`) };
}
