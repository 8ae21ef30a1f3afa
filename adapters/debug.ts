import type { Logger } from '../src/events.js';

interface Stderr {
  write(text: string): void;
  /** Absent in shims of browsers. */
  listenerCount?(name: 'error'): number;
  on(name: 'error', listener: () => void): void;
}

/** Matches `DEBUG=exact-change`, alone or in a list, as the package `debug` does. */
const ENABLED = /(?:^|[\s,])(?:\*|exact-change\*?)(?:$|[\s,])/;

/**
 * Returns a logger that prints the steps of calls to standard error, if `DEBUG` enables it. Returns
 * undefined if not, or without an environment, as in browsers.
 */
export function debugLogger(): Logger | undefined {
  const { process } = globalThis as {
    process?: { env?: Record<string, string | undefined>; stderr?: Stderr };
  };
  const { env, stderr } = process ?? {};
  if (stderr === undefined || !ENABLED.test(env?.['DEBUG'] ?? '')) return undefined;
  // If its reader has ended, a write fails, and that would end the process, also within a payment.
  if (stderr.listenerCount?.('error') === 0) stderr.on('error', () => undefined);
  return { debug: (line) => stderr.write(`${line}\n`) };
}
