import { ProtocolError } from '../errors.js';
import { onAbort, startDeadline } from './abort.js';

/** The largest request body that is kept to be sent again. */
export const BODY_LIMIT_BYTES = 1024 * 1024;

/** How long a body may still flow once the answer is there. */
const BODY_WAIT_MS = 10_000;

/** A request body that can be sent again, but for one that is too large, or breaks off. */
export interface KeptBody {
  /**
   * All of it. Rejects with `ProtocolError` (`body_not_replayable`), or the reason of the signal.
   */
  bytes(signal: AbortSignal | undefined): Promise<Uint8Array<ArrayBuffer>>;
  /** What fetch is given for it the second time. Rejects as `bytes` does. */
  again(signal: AbortSignal | undefined): Promise<BodyInit>;
  /** Reads no further and forgets what was read. */
  drop(): void;
}

/** One that is in memory: its caller can change no more of what is kept. */
export interface CopiedBody extends KeptBody {
  /**
   * What fetch is given for it the first time: the caller's own, as long as that one has had no
   * turn to change it. fetch copies what it gets at once.
   */
  first(): BodyInit;
}

/** One that is read beside the request that sends it. */
export interface ReadBody extends KeptBody {
  /** Undefined if it is too large or broke off. Never rejects. */
  readonly whole: Promise<Uint8Array<ArrayBuffer> | undefined>;
}

export function isOneShot(body: BodyInit): boolean {
  return typeof body === 'object' && ('getReader' in body || Symbol.asyncIterator in body);
}

/**
 * Keeps a copy of a body, and reads it only if it is asked for. Undefined for a stream, a form, and
 * whatever fetch makes text of.
 */
export function keepCopy(body: BodyInit): CopiedBody | undefined {
  const copy = copyOfBody(body);
  const held = heldOf(copy);
  if (held === undefined) return undefined;
  let own: BodyInit | undefined = body;
  void Promise.resolve().then(() => (own = undefined));
  // What was handed out may be read at any time, so its memory is not written to again; nor is one
  // that is too large to be copied, and the caller's own.
  let isHandedOut = copy === body;
  let isOver = false;
  const use = () => {
    if (isOver) throw notReplayable();
    isHandedOut = true;
    return copy;
  };
  const bytes = async () => {
    use();
    const [size, read] = held;
    const all = size > BODY_LIMIT_BYTES ? undefined : await read();
    if (all === undefined || all.length > BODY_LIMIT_BYTES) throw notReplayable();
    return all;
  };
  return {
    first: () => own ?? use(),
    bytes,
    again: async () => {
      await bytes();
      return copy;
    },
    drop() {
      if (isHandedOut) return;
      isHandedOut = isOver = true;
      spare = bytesOf(copy)?.buffer;
    },
  };
}

/** At least so many bytes, and how they are read. */
type Held = readonly [
  size: number,
  read: () => Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>>,
];

function heldOf(body: BodyInit): Held | undefined {
  if (typeof body === 'string' || body instanceof URLSearchParams) {
    const text = String(body);
    return [text.length, () => new TextEncoder().encode(text)];
  }
  const bytes = bytesOf(body);
  if (bytes !== undefined) return [bytes.length, () => bytes];
  // Node 16 has no global one.
  return typeof Blob !== 'undefined' && body instanceof Blob
    ? [body.size, async () => new Uint8Array(await body.arrayBuffer())]
    : undefined;
}

/** Undefined for what is no bytes, and for shared memory, which fetch does not take. */
function bytesOf(body: BodyInit): Uint8Array<ArrayBuffer> | undefined {
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  return ArrayBuffer.isView(body) && body.buffer instanceof ArrayBuffer
    ? new Uint8Array(body.buffer, body.byteOffset, body.byteLength)
    : undefined;
}

/** With a body that its caller can change no more, if it is one that is kept as it is. */
export function holdBody(init: RequestInit): RequestInit {
  const { body } = init;
  return body === undefined || body === null ? init : { ...init, body: copyOfBody(body) };
}

/** What the last body was copied to: new memory takes longer to get than to write to. */
let spare: ArrayBuffer | undefined;

/** Of a stream or a form there is no copy. */
function copyOfBody(body: BodyInit): BodyInit {
  if (body instanceof URLSearchParams) return new URLSearchParams(body);
  const bytes = bytesOf(body);
  if (bytes === undefined || bytes.length > BODY_LIMIT_BYTES) return body;
  if (spare?.byteLength !== bytes.length) return Uint8Array.from(bytes);
  const copy = new Uint8Array(spare);
  spare = undefined;
  copy.set(bytes);
  return copy;
}

async function readKept(
  whole: ReadBody['whole'],
  signal: AbortSignal | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const deadline = startDeadline(BODY_WAIT_MS, signal);
  try {
    const ended = new Promise<undefined>((resolve) => {
      if (deadline.signal.aborted) resolve(undefined);
      else onAbort(deadline.signal, () => resolve(undefined));
    });
    const kept = await Promise.race([whole, ended]);
    if (kept !== undefined) return kept;
  } finally {
    deadline.end();
  }
  if (signal?.aborted === true) throw signal.reason;
  throw notReplayable();
}

function notReplayable(): ProtocolError {
  return new ProtocolError(
    'body_not_replayable',
    `The request body is larger than ${BODY_LIMIT_BYTES} bytes, broke off or did not end, so it cannot be sent again with a payment. Send a smaller body.`,
    { details: { limitBytes: BODY_LIMIT_BYTES } },
  );
}

function keepRead(whole: ReadBody['whole'], drop: () => void): ReadBody {
  const bytes = (signal: AbortSignal | undefined) => readKept(whole, signal);
  return { whole, bytes, again: bytes, drop };
}

/**
 * Reads the body of `copy` up to the limit; beyond it, nothing is kept and nothing more is read.
 * Undefined if there is no body.
 */
export function keepBody(copy: Request): ReadBody | undefined {
  if (copy.body === null || copy.method === 'GET' || copy.method === 'HEAD') return undefined;
  return isStream(copy.body) ? keepStream(copy.body) : keepWhole(copy);
}

/** As {@link keepBody}, for a branch of a stream. */
export function keepStream(stream: ReadableStream<Uint8Array>): ReadBody {
  const reader = stream.getReader();
  let dropped = false;
  const drop = () => {
    dropped = true;
    // A source that fails to cancel has nothing more to give.
    reader.cancel().catch(() => undefined);
  };
  const read = async (): Promise<Uint8Array<ArrayBuffer> | undefined> => {
    const chunks: Uint8Array[] = [];
    let size = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return join(chunks, size);
      size += value.byteLength;
      if (size > BODY_LIMIT_BYTES) {
        drop();
        return undefined;
      }
      chunks.push(value);
    }
  };
  const whole = read().then(
    (all) => (dropped ? undefined : all),
    // A body that breaks off fails the request itself; here it is only not there to be sent again.
    () => undefined,
  );
  return keepRead(whole, drop);
}

/** Firefox shows no `Request.body`; what it takes as a body is in memory already. */
function keepWhole(copy: Request): ReadBody {
  const read = async (): Promise<Uint8Array<ArrayBuffer> | undefined> => {
    const bytes = new Uint8Array(await copy.arrayBuffer());
    return bytes.byteLength > BODY_LIMIT_BYTES ? undefined : bytes;
  };
  return keepRead(
    read().catch(() => undefined),
    () => undefined,
  );
}

function isStream(body: unknown): body is ReadableStream<Uint8Array> {
  return typeof body === 'object' && body !== null && 'getReader' in body;
}

function join(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.byteLength;
  }
  return all;
}
