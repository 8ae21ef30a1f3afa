import { isStream } from '../../internal/kept-body.js';

/** Events of a body while it is read. Each end resolves when it is noted. */
export interface Reading {
  begin(): void;
  /** The body was read to its end. */
  ended(): Promise<void>;
  /** The body failed before its end. */
  broke(): Promise<void>;
  /** The reader stopped before the end, or was garbage collected. */
  left(): Promise<void>;
}

type Bytes = Uint8Array<ArrayBuffer>;
type Controller = ReadableStreamDefaultController<Bytes> | ReadableByteStreamController;

/** The end of a stream of events in the API of OpenAI: some clients read no further. */
const LAST_EVENT = /\ndata: ?\[DONE\]\s+$/;
const LAST_EVENT_BYTES = 20;

let forgotten: FinalizationRegistry<() => void> | undefined;

/**
 * Returns a stream that gives the chunks of a body's own stream, and reports its events. It locks
 * the own stream only at its first read. Until then, the response can still be read by its methods,
 * or cloned, although its stream was asked for.
 *
 * @param original - The body's own stream; the new stream is of the same kind.
 * @param source - Returns the body's own stream at the first read.
 */
export function watchStream(
  original: ReadableStream<Bytes>,
  source: () => unknown,
  reading: Reading,
): { readonly stream: ReadableStream<Bytes>; isBegun(): boolean } {
  let reader: ReadableStreamDefaultReader<Bytes> | undefined;
  let isOver = false;
  const tail = tailOf(reading);
  const begin = () => {
    const body = source();
    if (!isStream(body)) throw new TypeError('There is no body.');
    reader = body.getReader();
    reading.begin();
    // Watch for garbage collection from the first read on, because a stream that nothing refers to
    // any more is not cancelled.
    if (typeof FinalizationRegistry !== 'undefined')
      registry().register(stream, forget(tail, reader), reader);
    return reader;
  };
  const finish = (from: object) => {
    isOver = true;
    forgotten?.unregister(from);
  };
  const from: UnderlyingDefaultSource<Bytes> & Omit<UnderlyingByteSource, 'type'> = {
    async pull(controller: Controller) {
      const active = reader ?? begin();
      const { done, value } = await nextChunk(active).catch(async (error: unknown) => {
        if (isOver) throw error;
        finish(active);
        await reading.broke();
        throw error;
      });
      if (isOver) return;
      if (!done) {
        tail.note(value);
        return controller.enqueue(value);
      }
      finish(active);
      await reading.ended();
      controller.close();
      if ('byobRequest' in controller) controller.byobRequest?.respond(0);
    },
    async cancel(reason: unknown) {
      const active = reader ?? begin();
      finish(active);
      await Promise.all([active.cancel(reason), tail.leave()]);
    },
  };
  // Take the class from the stream, because Node 16 has no global `ReadableStream`.
  const Stream: unknown = original.constructor;
  if (!isStreamClass(Stream)) throw new TypeError('The stream of a response has no class.');
  const stream = takesBuffers(original)
    ? new Stream({ ...from, type: 'bytes' })
    : new Stream<Bytes>(from, { highWaterMark: 0 });
  return { stream, isBegun: () => reader !== undefined };
}

/** Reads the next chunk that is not empty, because a stream of bytes takes no empty chunks. */
async function nextChunk(
  reader: ReadableStreamDefaultReader<Bytes>,
): Promise<ReadableStreamReadResult<Bytes>> {
  for (;;) {
    const next = await reader.read();
    if (next.done || next.value.byteLength !== 0) return next;
  }
}

/** The last bytes that a reader got. */
interface Tail {
  note(bytes: Bytes): void;
  /** Reports that the reader left. If it left after the last event, it read the whole stream. */
  leave(): Promise<void>;
}

function tailOf(reading: Reading): Tail {
  let text = '\n';
  return {
    note(bytes) {
      // Text has this method too: the stream of a polyfill, or of a test, may have chunks of text.
      const last = String.fromCharCode(...bytes.slice(-LAST_EVENT_BYTES));
      text = (text + last).slice(-LAST_EVENT_BYTES);
    },
    leave: () => (LAST_EVENT.test(text) ? reading.ended() : reading.left()),
  };
}

/**
 * A function of its own: closures of one function keep each other's variables alive, and this
 * closure must not keep the stream.
 */
function forget(tail: Tail, reader: ReadableStreamDefaultReader<Bytes>): () => void {
  return () => {
    void tail.leave();
    reader.cancel().catch(() => undefined);
  };
}

function registry(): FinalizationRegistry<() => void> {
  return (forgotten ??= new FinalizationRegistry((forget) => forget()));
}

/** Whether a stream is a stream of bytes: only such a stream takes a reader with own buffers. */
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
