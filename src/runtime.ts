/** Everything impure that the core needs, injected so that tests own time and chance. */
export interface Runtime {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  randomBytes(length: number): Uint8Array;
}

/** The runtime's own clock, timers and randomness. */
export const systemRuntime: Runtime = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason);
      const stop = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', stop);
        resolve();
      }, ms);
      signal?.addEventListener('abort', stop, { once: true });
    }),
  randomBytes: (length) => globalThis.crypto.getRandomValues(new Uint8Array(length)),
};
