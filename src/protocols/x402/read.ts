import { TransportError } from '../../errors.js';
import { startDeadline, untilAborted } from '../../internal/abort.js';
import { isCrossOrigin } from '../../internal/origin.js';
import type { ReadOptions } from '../protocol.js';
import type { PaymentRequired } from '../types.js';
import { JSON_LIMITS } from './json.js';
import {
  claimsPayment,
  findPaymentRequired,
  malformedPaymentRequired,
  type Malformed,
  type PaymentRequiredParts,
} from './parse.js';

/** The beginning of a body, at most 64 KiB of it. */
export interface PeekedBody {
  readonly text: string;
  /** `whole`, or why the rest is not there; `dismissed` means that it cannot be a JSON object. */
  readonly end: 'whole' | 'dismissed' | 'capped' | 'late' | 'broken';
}

/** How long a good header waits for the body that may hold a fallback. */
const FALLBACK_WAIT_MS = 1_000;
/** Never JSON, and some of them never end. */
const STREAMS = /^\s*(?:text\/event-stream|multipart\/|image\/|audio\/|video\/|font\/)/i;
const JSON_TYPE = /^\s*[a-z]+\/(?:[a-z0-9.-]+\+)?json\b/i;

/**
 * The payment terms of a response, or undefined if it is no payment request. The response itself
 * stays as it is, its body unread: only a copy is read, no further than needed, at most 64 KiB and
 * until the deadline.
 */
export async function readPaymentRequired(
  response: Response,
  options: ReadOptions,
): Promise<PaymentRequired | undefined> {
  if (response.status !== 402) return undefined;
  if (options.signal?.aborted === true) throw options.signal.reason;
  const parts: PaymentRequiredParts = {
    headers: response.headers,
    ...(response.url === '' ? {} : { url: response.url }),
  };
  const header = response.headers.has('payment-required') ? findPaymentRequired(parts) : undefined;
  if (isReadable(header)) {
    if (header.x402Version === 1 || !mayHoldFallback(response.headers)) return header;
    const body = await peekBody(response, {
      ...options,
      timeoutMs: Math.min(options.timeoutMs, FALLBACK_WAIT_MS),
    });
    return body.end === 'whole' && !isEmpty(body.text)
      ? orThrow(findPaymentRequired({ ...parts, body: body.text }), response)
      : header;
  }
  const body = await peekBody(response, options);
  // It shows this page no header.
  if (isCrossOrigin(response) && isEmpty(body.text) && body.end === 'whole')
    throw malformedPaymentRequired(
      'this page may not read its header (CORS); it lacks Access-Control-Expose-Headers: PAYMENT-REQUIRED, PAYMENT-RESPONSE',
      response,
    );
  const found = findPaymentRequired(body.end === 'whole' ? { ...parts, body: body.text } : parts);
  if (isReadable(found) || body.end === 'whole' || body.end === 'dismissed')
    return orThrow(found, response);
  if (!claimsPayment(body.text)) return orThrow(found, response);
  if (body.end === 'late') throw lateBody(response, options.timeoutMs);
  throw malformedPaymentRequired(
    body.end === 'capped' ? 'its body is too large' : 'its body broke off or is not UTF-8',
    response,
  );
}

/**
 * Reads the beginning of a copy of the body, for as long as it may be a JSON object. Rejects only
 * with the signal's reason.
 */
export async function peekBody(response: Response, options: ReadOptions): Promise<PeekedBody> {
  const copy = STREAMS.test(response.headers.get('content-type') ?? '')
    ? null
    : copyOfBody(response);
  if (copy === null) return { text: '', end: 'dismissed' };
  const reader = copy.getReader();
  const deadline = startDeadline(options.timeoutMs, options.signal);
  const chunks: Uint8Array[] = [];
  let size = 0;
  const finish = (end: PeekedBody['end']): PeekedBody => decoded(chunks, size, end);
  try {
    for (;;) {
      const next = await untilAborted(reader.read(), deadline.signal);
      if (next.done) return finish('whole');
      chunks.push(next.value);
      size += next.value.byteLength;
      if (chunks.length === 1 && !mayBeObject(next.value)) return finish('dismissed');
      if (size > JSON_LIMITS.characters) return finish('capped');
    }
  } catch (error) {
    if (options.signal?.aborted === true) throw error;
    return finish(deadline.passed ? 'late' : 'broken');
  } finally {
    deadline.end();
    // Not awaited: one branch of a tee settles only when the other is cancelled too.
    reader.cancel().catch(() => undefined);
  }
}

/** What an official seller answers beside its header. */
function isEmpty(text: string): boolean {
  return /^(?:\{\s*\})?$/.test(text.trim());
}

function orThrow(
  found: PaymentRequired | Malformed | undefined,
  response: Response,
): PaymentRequired | undefined {
  if (found === undefined || isReadable(found)) return found;
  throw malformedPaymentRequired(found.malformed, response);
}

function isReadable(found: PaymentRequired | Malformed | undefined): found is PaymentRequired {
  return found !== undefined && !('malformed' in found);
}

/** v2 servers answer `{}` beside the header; only a JSON body with more in it is worth a look. */
function mayHoldFallback(headers: Headers): boolean {
  if (!JSON_TYPE.test(headers.get('content-type') ?? '')) return false;
  const length = headers.get('content-length');
  return length === null || (Number(length) > 2 && Number(length) <= JSON_LIMITS.characters);
}

function copyOfBody(response: Response): ReadableStream<Uint8Array> | null {
  // `locked` is missing if there is no body, or no stream to read one from.
  if (response.bodyUsed || response.body?.locked !== false) return null;
  return response.clone().body;
}

/**
 * Whether the first bytes, after space and a byte order mark, begin a JSON object; undecided if
 * they are all space.
 */
function mayBeObject(bytes: Uint8Array): boolean {
  const isMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const first = bytes
    .subarray(isMark ? 3 : 0)
    .find((byte) => ![0x20, 0x09, 0x0a, 0x0d].includes(byte));
  return first === undefined || first === 0x7b;
}

function decoded(chunks: readonly Uint8Array[], size: number, end: PeekedBody['end']): PeekedBody {
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  try {
    // A cut may fall within a character, so only a whole body must be whole UTF-8.
    return { text: new TextDecoder('utf-8', { fatal: end === 'whole' }).decode(bytes), end };
  } catch {
    return { text: new TextDecoder().decode(bytes), end: 'broken' };
  }
}

function lateBody(response: Response, timeoutMs: number): TransportError<'timeout'> {
  return new TransportError(
    'timeout',
    `The seller's payment terms did not arrive within ${timeoutMs} ms. Nothing was paid; try again.`,
    {
      details: { step: 'payment_required', timeoutMs },
      response,
    },
  );
}
