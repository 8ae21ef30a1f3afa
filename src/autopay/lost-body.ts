const READERS = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'] as const;

/**
 * Tells once when the body of a response, or of a clone of it, breaks off while it is read by one of its methods, and lets the reader wait for
 * that. The response stays the one that fetch gave: only these methods are covered by its own, invisibly. Who reads the stream itself sees
 * the break alone.
 */
export function onLostBody(response: Response, lost: () => Promise<void>): void {
  let told: Promise<void> | undefined;
  cover(response, () => (told ??= lost()));
}

function cover(response: Response, lost: () => Promise<void>): void {
  for (const name of READERS) {
    // Old runtimes lack some.
    const read: unknown = Reflect.get(response, name);
    if (typeof read !== 'function') continue;
    put(response, name, async () => {
      const wasRead = response.bodyUsed;
      try {
        return await Reflect.apply(read, response, []);
      } catch (error) {
        // What is there and is no JSON was not lost; nor was what had been read before.
        if (!wasRead && !(error instanceof SyntaxError)) await lost();
        throw error;
      }
    });
  }
  const clone = response.clone.bind(response);
  put(response, 'clone', () => {
    const copy = clone();
    cover(copy, lost);
    return copy;
  });
}

function put(response: Response, name: string, value: () => unknown): void {
  Object.defineProperty(response, name, { value, enumerable: false, configurable: true, writable: true });
}
