/**
 * Returns an iterator over the chunks of a body. Takes the body at the first chunk, and cancels it
 * if its reader leaves, also before the first chunk or while a chunk is awaited. A generator would
 * do neither: it ends without a step before its first, and only after the step under way.
 */
export function chunksOf(
  body: ReadableStream<Uint8Array> | null,
): AsyncIterableIterator<Uint8Array, undefined> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  const end = { done: true, value: undefined } as const;
  return {
    async next() {
      reader ??= body?.getReader();
      const part = await reader?.read();
      return part?.done === false ? part : end;
    },
    async return() {
      // A body that another reader has taken is left to it.
      const taken = reader ?? (body?.locked === true ? undefined : body);
      // A body that broke off cannot be cancelled, and brings nothing more.
      await taken?.cancel().catch(() => undefined);
      return end;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
