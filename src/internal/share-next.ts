/**
 * Runs work once at a time. All that call while it runs share the next run, so that what each of
 * them hears was found out after it had asked.
 */
export function shareNext<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  const run = (): Promise<T> => {
    next = undefined;
    const mine = work();
    running = mine;
    return mine;
  };
  return () => (next ??= running.then(run, run));
}
