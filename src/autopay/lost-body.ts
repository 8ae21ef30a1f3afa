const READERS = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'] as const;

/**
 * Tells once when the body of a response breaks off while it is read by one of its methods. The response stays the one that fetch gave: only
 * these methods are covered by its own, invisibly. Who reads the stream itself sees the break alone.
 */
export function onLostBody(response: Response, lost: () => void): void {
  let told = false;
  for (const name of READERS) {
    // Old runtimes lack some.
    const read: unknown = Reflect.get(response, name);
    if (typeof read !== 'function') continue;
    const value = (): Promise<unknown> => {
      const wasRead = response.bodyUsed;
      const reading = Promise.resolve<unknown>(Reflect.apply(read, response, []));
      reading.then(undefined, (error: unknown) => {
        // What is there and is no JSON was not lost; nor was what had been read before.
        if (told || wasRead || error instanceof SyntaxError) return;
        told = true;
        lost();
      });
      return reading;
    };
    Object.defineProperty(response, name, { value, enumerable: false, configurable: true, writable: true });
  }
}
