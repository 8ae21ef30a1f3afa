/**
 * Runs work once at a time. All calls during a run share the next run, so that each result is newer
 * than its call.
 */
export function shareNext<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  const run = (): Promise<T> => {
    next = undefined;
    const current = work();
    running = current;
    return current;
  };
  return () => (next ??= running.then(run, run));
}
