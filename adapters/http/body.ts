import { untilAborted } from '../../src/internal/abort.js';
import { isDeeper, MAX_DEPTH } from '../../src/internal/depth.js';
import { RequestRefusal } from './refusal.js';

const JSON_TYPE = /^application\/json(?:\s*;\s*charset="?utf-8"?)?$/i;

/**
 * Reads the JSON of a request, and bounds its type, size and depth before parsing. Throws
 * {@link RequestRefusal}.
 */
export async function readJsonBody(
  request: Request,
  maxBytes: number,
  signal: AbortSignal,
): Promise<unknown> {
  // A form on another page cannot send this type without a CORS preflight.
  if (!JSON_TYPE.test(request.headers.get('content-type')?.trim() ?? '')) {
    throw new RequestRefusal(
      'unsupported_media_type',
      'Send JSON, with the content type application/json.',
    );
  }
  if (!/^(?:identity)?$/i.test(request.headers.get('content-encoding')?.trim() ?? '')) {
    throw new RequestRefusal('unsupported_media_type', 'Send the body without a content encoding.');
  }
  const text = decodeUtf8(await readBytes(request, maxBytes, signal));
  if (isDeeper(text, MAX_DEPTH))
    throw new RequestRefusal(
      'malformed_request',
      `Nest the body no deeper than ${MAX_DEPTH} levels.`,
    );
  try {
    return JSON.parse(text);
  } catch {
    // Drop the parser's own error, because it quotes the body.
    throw new RequestRefusal(
      'malformed_request',
      'The body is not JSON. Check it, and send it again.',
    );
  }
}

/** Reads a body and counts its bytes: its content-length is only the sender's claim. */
async function readBytes(
  request: Request,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const reader = request.body?.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    while (reader !== undefined) {
      const { done, value } = await untilAborted(reader.read(), signal);
      if (done) break;
      length += value.length;
      if (length > maxBytes) throw tooLarge(maxBytes);
      chunks.push(value);
    }
  } catch (error) {
    // Do not wait for the cancellation, because the rest of the body may never come.
    reader?.cancel().catch(() => undefined);
    throw error;
  }
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

function tooLarge(maxBytes: number): RequestRefusal {
  return new RequestRefusal('request_too_large', `Send a body of at most ${maxBytes} bytes.`, {
    details: { limitBytes: maxBytes },
  });
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new RequestRefusal(
      'malformed_request',
      'The body is not UTF-8. Check it, and send it again.',
    );
  }
}
