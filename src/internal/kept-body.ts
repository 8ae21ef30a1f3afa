import { ProtocolError } from '../errors.js';
import { startDeadline, untilAborted } from './abort.js';
import { isObject } from './record.js';
import { readUpTo } from './read-up-to.js';

/** The largest request body that is kept to be sent again. */
export const BODY_LIMIT_BYTES = 1024 * 1024;

/** How long a body may still flow once the answer has come. */
const BODY_WAIT_MS = 10_000;

/** A request body that can be sent again, unless it is too large or breaks off. */
export interface KeptBody {
  /**
   * Resolves to the whole body. Rejects with `ProtocolError` (`body_not_replayable`), or the reason
   * of the signal.
   */
  bytes(signal: AbortSignal | undefined): Promise<Uint8Array<ArrayBuffer>>;
  /** Resolves to the body for the second request. Rejects as `bytes` does. */
  again(signal: AbortSignal | undefined): Promise<BodyInit>;
  /** Reads no further, and forgets the bytes that were read. */
  drop(): void;
}

/** A body that is in memory, as a copy that the caller cannot change. */
export interface CopiedBody extends KeptBody {
  /**
   * Returns the body for the first request: the caller's own, until the caller has had a turn to
   * change it. fetch copies a body at once.
   */
  first(): BodyInit;
}

/** A body that is read beside the request that sends it. */
export interface ReadBody extends KeptBody {
  /** Resolves to undefined if the body is too large or broke off. Never rejects. */
  readonly whole: Promise<Uint8Array<ArrayBuffer> | undefined>;
}

export function isOneShot(body: BodyInit): boolean {
  return typeof body === 'object' && ('getReader' in body || Symbol.asyncIterator in body);
}

/**
 * Copies a form, also of another fetch, whose form a runtime may take for text. Throws if the
 * runtime cannot read the form, such as one of the package `form-data`, or a file in it.
 */
export function copyOfForm(body: BodyInit): FormData | undefined {
  if (!isForm(body)) return undefined;
  const form = new FormData();
  body.forEach((value, name) =>
    // With a name, the runtime takes a file only: without one, it may take a file for text.
    typeof value === 'string' ? form.append(name, value) : form.append(name, value, value.name),
  );
  return form;
}

function isForm(body: BodyInit): body is FormData {
  return Object.prototype.toString.call(body) === '[object FormData]';
}

/**
 * Keeps a copy of a body, and reads it only on demand. Undefined for a stream, a form, and any
 * value that fetch turns into text.
 */
export function keepCopy(body: BodyInit): CopiedBody | undefined {
  let copy = copyOfBody(body);
  const size = leastSizeOf(copy);
  if (size === undefined) return undefined;
  let original: BodyInit | undefined = body;
  void Promise.resolve().then(() => (original = undefined));
  // Memory that was handed out may be read at any time, so it is not written to again. A body that
  // is too large to copy is the caller's own memory.
  let isHandedOut = copy === body;
  let isDropped = false;
  const use = () => {
    if (isDropped) throw notReplayable();
    isHandedOut = true;
    return copy;
  };
  const bytes = async () => {
    const held: unknown = use();
    const content =
      size > BODY_LIMIT_BYTES
        ? undefined
        : isBlob(held)
          ? await readWhole(held)
          : (bytesOf(held) ?? new TextEncoder().encode(String(held)));
    if (content === undefined || content.length > BODY_LIMIT_BYTES) throw notReplayable();
    // Hold what was read: the file of a Blob may change, and then the Blob cannot be read again.
    if (isBlob(held)) copy = new Blob([content], held);
    return content;
  };
  return {
    first: () => original ?? use(),
    bytes,
    again: () => bytes().then(() => copy),
    drop() {
      if (isHandedOut) return;
      isHandedOut = isDropped = true;
      spare = bytesOf(copy)?.buffer;
    },
  };
}

/** Reads a body up to the limit. Undefined if it is larger, or cannot be read. */
async function readWhole(body: Request | Blob): ReadBody['whole'] {
  const buffer = await body.arrayBuffer().catch(() => undefined);
  return buffer === undefined || buffer.byteLength > BODY_LIMIT_BYTES
    ? undefined
    : new Uint8Array(buffer);
}

/** Returns the least size of a body in bytes; undefined if only fetch can read the body. */
function leastSizeOf(body: BodyInit): number | undefined {
  if (typeof body === 'string' || body instanceof URLSearchParams) return String(body).length;
  return isBlob(body) ? body.size : bytesOf(body)?.length;
}

function isBlob(body: unknown): body is Blob {
  // Node 16 has no global Blob.
  return typeof Blob !== 'undefined' && body instanceof Blob;
}

/** Returns the bytes of a buffer or a view; undefined for shared memory, which fetch refuses. */
function bytesOf(body: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  return ArrayBuffer.isView(body) && body.buffer instanceof ArrayBuffer
    ? new Uint8Array(body.buffer, body.byteOffset, body.byteLength)
    : undefined;
}

/** Returns an init with a copy of its body, so that the caller cannot change the body. */
export function holdBody(init: RequestInit): RequestInit {
  const { body } = init;
  return body === undefined || body === null ? init : { ...init, body: copyOfBody(body) };
}

/** Memory of the last copy, to be used again: new memory takes longer to get than to write to. */
let spare: ArrayBuffer | undefined;

/** Copies bytes up to the limit, and parameters; returns any other body as it is. */
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
    const kept = await untilAborted(whole, deadline.signal).catch(() => undefined);
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
    `The request body is larger than ${BODY_LIMIT_BYTES} bytes, broke off or did not end, so it cannot be sent again. Send a smaller body.`,
    { details: { limitBytes: BODY_LIMIT_BYTES } },
  );
}

function keepRead(whole: ReadBody['whole'], drop: () => void): ReadBody {
  const bytes = (signal: AbortSignal | undefined) => readKept(whole, signal);
  return { whole, bytes, again: bytes, drop };
}

/**
 * Reads the body of `copy` up to the limit; beyond the limit, keeps nothing and reads no further.
 * Undefined if there is no body.
 */
export function keepBody(copy: Request): ReadBody | undefined {
  if (copy.body === null || copy.method === 'GET' || copy.method === 'HEAD') return undefined;
  if (isStream(copy.body)) return keepStream(copy.body);
  // Firefox has no `Request.body`, and its bodies are in memory.
  return keepRead(readWhole(copy), () => undefined);
}

/** As {@link keepBody}, for a branch of a split stream. */
export function keepStream(stream: ReadableStream<Uint8Array>): ReadBody {
  const room = { size: BODY_LIMIT_BYTES };
  // Drop between two chunks: in Node 20 and 22, a cancelled source that ends later ends the process.
  const whole = readUpTo(room, stream.getReader()).catch(
    // A body that breaks off fails the request itself; here it only cannot be sent again.
    () => undefined,
  );
  return keepRead(whole, () => void (room.size = -1));
}

/** Checks the shape, not the class: some fetches have streams of their own kind, or none. */
export function isStream(body: unknown): body is ReadableStream<Uint8Array<ArrayBuffer>> {
  return isObject(body) && 'getReader' in body;
}
