/** Notifies pages of changes, as server-sent events. */
export interface Changes {
  /** Returns a stream of events until its reader leaves; undefined if too many are open. */
  stream(signal: AbortSignal): ReadableStream<Uint8Array> | undefined;
  /** Ends all streams, and refuses new streams. */
  close(): void;
}

const MOST_STREAMS = 32;
const LOOK_MS = 500;
/**
 * Looks between two beats. A beat finds readers that have left, and keeps proxies from closing the
 * stream as idle.
 */
const BEAT_LOOKS = 30;

const text = new TextEncoder();
const CHANGE = text.encode('event: change\ndata: {}\n\n');
const BEAT = text.encode(': still here\n\n');

/**
 * @param look - Returns text that changes if the pages' data changes, such as the size of a file.
 *   Called twice a second while there are readers.
 */
export function createChanges(look: () => Promise<string>): Changes {
  const ends = new Map<ReadableStreamDefaultController<Uint8Array>, () => void>();
  let timer: ReturnType<typeof setInterval> | undefined;
  let seen: string | undefined;
  let looks = 0;
  let isClosed = false;

  const send = (part: Uint8Array): void => {
    for (const [controller, end] of ends) {
      // A reader with a full queue does not read: it needs no more events, and a beat ends it.
      if ((controller.desiredSize ?? 0) > 0) controller.enqueue(part);
      else if (part === BEAT) end();
    }
  };
  const check = async (): Promise<void> => {
    const now = await look().catch(() => seen);
    if (now !== seen) send(CHANGE);
    else if ((looks += 1) % BEAT_LOOKS === 0) send(BEAT);
    seen = now;
  };
  const watch = (): void => {
    timer ??= setInterval(() => void check(), LOOK_MS).unref();
    if (ends.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  return {
    stream(signal) {
      if (isClosed || ends.size >= MOST_STREAMS) return undefined;
      let forget = (): boolean => false;
      return new ReadableStream<Uint8Array>(
        {
          start(controller) {
            forget = () => {
              if (!ends.delete(controller)) return false;
              signal.removeEventListener('abort', end);
              watch();
              return true;
            };
            const end = () => {
              if (forget()) controller.close();
            };
            ends.set(controller, end);
            signal.addEventListener('abort', end, { once: true });
            // The page may have read its data before the stream began, so let it read again.
            controller.enqueue(CHANGE);
            watch();
          },
          // The reader has left, so the stream is already closed.
          cancel: () => void forget(),
        },
        { highWaterMark: 8 },
      );
    },
    close() {
      isClosed = true;
      for (const end of [...ends.values()]) end();
    },
  };
}
