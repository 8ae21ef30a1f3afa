/** What becomes of a body while it is read. */
export interface Reading {
  /** Something of it is asked for. */
  begin(): void;
  /** It was read to its end. Resolves once that is noted. */
  ended(): Promise<void>;
  /** It failed before its end. Resolves once that is noted. */
  broke(): Promise<void>;
  /** Its reader stopped before its end, or was forgotten. Resolves once that is noted. */
  left(): Promise<void>;
}

type Bytes = Uint8Array<ArrayBuffer>;
type Controller = ReadableStreamDefaultController<Bytes> | ReadableByteStreamController;

let forgotten: FinalizationRegistry<() => void> | undefined;

/**
 * A stream of the same kind as a body's own that gives what that gives, no sooner than it is asked,
 * and tells how far it came. The body's own stays free until then: a response that was asked for
 * its stream can still be read by its methods, or cloned.
 */
export function watchStream(
  like: ReadableStream<Bytes>,
  source: () => unknown,
  reading: Reading,
): { readonly stream: ReadableStream<Bytes>; isBegun(): boolean } {
  let reader: ReadableStreamDefaultReader<Bytes> | undefined;
  let isOver = false;
  const begin = () => {
    const own = source();
    if (!isStream(own)) throw new TypeError('There is no body.');
    reader = own.getReader();
    reading.begin();
    // Only what is begun can be given up half way, and a stream that nothing refers to any more is
    // not cancelled.
    if (typeof FinalizationRegistry !== 'undefined')
      registry().register(stream, giveUp(reading, reader), reader);
    return reader;
  };
  const finish = (from: object) => {
    isOver = true;
    forgotten?.unregister(from);
  };
  const from: UnderlyingDefaultSource<Bytes> & Omit<UnderlyingByteSource, 'type'> = {
    async pull(controller: Controller) {
      const own = reader ?? begin();
      const { done, value } = await nextOf(own).catch(async (error: unknown) => {
        if (isOver) throw error;
        finish(own);
        await reading.broke();
        throw error;
      });
      if (isOver) return;
      if (!done) return controller.enqueue(value);
      finish(own);
      await reading.ended();
      controller.close();
      if ('byobRequest' in controller) controller.byobRequest?.respond(0);
    },
    async cancel(reason: unknown) {
      const own = reader ?? begin();
      finish(own);
      await Promise.all([own.cancel(reason), reading.left()]);
    },
  };
  // Node 16 has the class, but no global of its name.
  const Stream: unknown = like.constructor;
  if (!isStreamClass(Stream)) throw new TypeError('The stream of a response has no class.');
  const stream = takesBuffers(like)
    ? new Stream({ ...from, type: 'bytes' })
    : new Stream<Bytes>(from, { highWaterMark: 0 });
  return { stream, isBegun: () => reader !== undefined };
}

/** The next of what there is; a stream of bytes takes no empty pieces. */
async function nextOf(
  reader: ReadableStreamDefaultReader<Bytes>,
): Promise<ReadableStreamReadResult<Bytes>> {
  for (;;) {
    const next = await reader.read();
    if (next.done || next.value.byteLength !== 0) return next;
  }
}

/** On its own: a closure keeps all that the closures beside it use, the stream itself above all. */
function giveUp(reading: Reading, reader: ReadableStreamDefaultReader<Bytes>): () => void {
  return () => {
    void reading.left();
    reader.cancel().catch(() => undefined);
  };
}

function registry(): FinalizationRegistry<() => void> {
  return (forgotten ??= new FinalizationRegistry((forget) => forget()));
}

/** By shape: some fetches bring a stream of their own kind, or none. */
export function isStream(body: unknown): body is ReadableStream<Bytes> {
  return typeof body === 'object' && body !== null && 'getReader' in body;
}

/** Whether it is a stream of bytes: those alone take a reader that brings its own buffers. */
function takesBuffers(stream: ReadableStream<Bytes>): boolean {
  try {
    stream.getReader({ mode: 'byob' }).releaseLock();
    return true;
  } catch {
    return false;
  }
}

function isStreamClass(value: unknown): value is typeof ReadableStream {
  return typeof value === 'function';
}
