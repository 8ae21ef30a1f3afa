const PAUSE_MS = 100;

/** Looks again and again until it is stopped, and keeps the largest number that it saw. */
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
  // Told by stop(), not to the process.
  watching.catch(() => undefined);
  return {
    stop: async () => {
      stopped = true;
      await watching;
      return { largest, looks };
    },
  };
}
