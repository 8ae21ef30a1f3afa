import { Buffer } from 'buffer';

/**
 * spl-token uses the global `Buffer`, which browsers lack. To be called before each use of it: a
 * module that only has the side effect of setting a global gets dropped by bundlers.
 */
export function ensureBuffer(): void {
  if (!('Buffer' in globalThis))
    Object.defineProperty(globalThis, 'Buffer', {
      value: Buffer,
      configurable: true,
      writable: true,
    });
}
