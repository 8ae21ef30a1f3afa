/**
 * Loads once for all that need it. What could not be loaded, as in a page that was offline, is
 * loaded anew by the next.
 */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () =>
    (loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    }));
}
