const PAUSE_MS = 100;

/** Polls until it is stopped, and keeps the largest number that it read. */
export function watchLargest(look: () => Promise<bigint>): {
  readonly stop: () => Promise<{ readonly largest: bigint; readonly looks: number }>;
} {
  let stopped = false;
  let looks = 0;
  let largest = 0n;
  const watching = (async () => {
    while (!stopped) {
      const now = await look();
      looks += 1;
      if (now > largest) largest = now;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  })();
  // stop() rejects with the error, so it must not count as unhandled.
  watching.catch(() => undefined);
  return {
    stop: async () => {
      stopped = true;
      await watching;
      return { largest, looks };
    },
  };
}
