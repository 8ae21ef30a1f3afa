/** Calls a hook of the caller. An error of the hook, also a later one, stops nothing. */
export function callHook(hook: () => unknown): void {
  new Promise((resolve) => resolve(hook())).catch(() => undefined);
}
