import type { Runtime } from './runtime.js';

/**
 * Milliseconds since this was called, by a clock that is looked at often: what it is set back by is
 * left out.
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
