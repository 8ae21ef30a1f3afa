import type { Runtime } from './runtime.js';

/**
 * Starts a stopwatch; the returned function gives the milliseconds since then. If the clock is set
 * back, only the time since the last call is lost.
 */
export function stopwatch(runtime: Pick<Runtime, 'now'>): () => number {
  let last = runtime.now();
  let elapsed = 0;
  return () => {
    const at = runtime.now();
    elapsed += Math.max(0, at - last);
    last = at;
    return elapsed;
  };
}
