import { ProtocolError } from '../errors.js';
import { onAbort } from './abort.js';
import { startDeadline } from './deadline.js';

/** The largest request body that is kept to be sent again. */
export const BODY_LIMIT_BYTES = 1024 * 1024;

/** How long a body may still flow once the answer is there. */
const BODY_WAIT_MS = 10_000;

/** A request body, read beside the request that sends it. */
export interface KeptBody {
  /** Undefined if it is too large or broke off. Never rejects. */
  readonly bytes: Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Reads no further and forgets what was read. */
  drop(): void;
}

export function isOneShot(body: BodyInit): boolean {
  return typeof body === 'object' && ('getReader' in body || Symbol.asyncIterator in body);
}

export async function readKept(
  body: KeptBody,
  signal: AbortSignal | undefined,
): Promise<Uint8Array<ArrayBuffer>> {
  const deadline = startDeadline(BODY_WAIT_MS, signal);
  try {
    const ended = new Promise<undefined>((resolve) => {
      if (deadline.signal.aborted) resolve(undefined);
      else onAbort(deadline.signal, () => resolve(undefined));
    });
    const kept = await Promise.race([body.bytes, ended]);
    if (kept !== undefined) return kept;
  } finally {
    deadline.end();
  }
  if (signal?.aborted === true) throw signal.reason;
  throw new ProtocolError(
    'body_not_replayable',
    `The request body is larger than ${BODY_LIMIT_BYTES} bytes, broke off or did not end, so it cannot be sent again with a payment. Send a smaller body.`,
    { details: { limitBytes: BODY_LIMIT_BYTES } },
  );
}

/**
 * Reads the body of `copy` up to the limit; beyond it, nothing is kept and nothing more is read.
 * Undefined if there is no body.
 */
export function keepBody(copy: Request): KeptBody | undefined {
  if (copy.body === null || copy.method === 'GET' || copy.method === 'HEAD') return undefined;
  return isStream(copy.body) ? keepStream(copy.body) : keepWhole(copy);
}

/** As {@link keepBody}, for a branch of a stream. */
export function keepStream(stream: ReadableStream<Uint8Array>): KeptBody {
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
  const bytes = read().then(
    (whole) => (dropped ? undefined : whole),
    // A body that breaks off fails the request itself; here it is only not there to be sent again.
    () => undefined,
  );
  return { bytes, drop };
}

/** Firefox shows no `Request.body`; what it takes as a body is in memory already. */
function keepWhole(copy: Request): KeptBody {
  const read = async (): Promise<Uint8Array<ArrayBuffer> | undefined> => {
    const bytes = new Uint8Array(await copy.arrayBuffer());
    return bytes.byteLength > BODY_LIMIT_BYTES ? undefined : bytes;
  };
  return { bytes: read().catch(() => undefined), drop: () => undefined };
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
