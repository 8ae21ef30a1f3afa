import { TransportError } from '../../errors.js';
import { startDeadline, untilAborted } from '../../internal/abort.js';
import { joined } from '../../internal/bytes.js';
import { isCrossOrigin } from '../../internal/origin.js';
import { isUtf8 } from '../../internal/utf8.js';
import type { ReadOptions } from '../protocol.js';
import type { PaymentRequired } from '../types.js';
import {
  bodyObject,
  claimsPayment,
  findPaymentRequired,
  malformedPaymentRequired,
} from './body.js';
import { fieldsOf, JSON_LIMITS } from './json.js';
import { isReadable, type Malformed, type PaymentRequiredParts } from './parse.js';
import { beginBody, mayHoldFallback, type BegunBody } from './read.js';
import { reasonIn } from './settlement.js';

/** The first part of a body, at most 64 KiB. */
export interface PeekedBody {
  readonly text: string;
  /** `whole`, or why the text is not whole. `dismissed`: the body cannot be a JSON object. */
  readonly end: 'whole' | 'dismissed' | 'capped' | 'late' | 'broken';
}

/** Milliseconds that a readable header waits for a body that may hold a fallback. */
const FALLBACK_WAIT_MS = 1_000;
/**
 * Does what `readPaymentRequired` does if the headers alone do not suffice. It reads a copy of the
 * body, only as far as needed, at most 64 KiB, and until the deadline.
 */
export async function readWithBody(
  response: Response,
  options: ReadOptions,
  begun: BegunBody | undefined,
): Promise<PaymentRequired | undefined> {
  const parts: PaymentRequiredParts = {
    headers: response.headers,
    ...(response.url === '' ? {} : { url: response.url }),
  };
  const header = response.headers.has('payment-required') ? findPaymentRequired(parts) : undefined;
  if (isReadable(header)) {
    if (header.x402Version === 1 || !mayHoldFallback(response.headers)) return header;
    const timeoutMs = Math.min(options.timeoutMs, FALLBACK_WAIT_MS);
    const body = await peekBody(response, { ...options, timeoutMs }, begun);
    return body.end === 'whole' && !isEmpty(body.text)
      ? orThrow(findPaymentRequired({ ...parts, body: body.text }), response)
      : header;
  }
  const body = await peekBody(response, options, begun);
  // The browser hides the header from this page.
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

/** Reads a body while it may still be a JSON object. Rejects only with the signal's reason. */
export async function peekBody(
  response: Response,
  options: ReadOptions,
  begun = beginBody(response),
): Promise<PeekedBody> {
  if (begun === undefined) return { text: '', end: 'dismissed' };
  const { reader } = begun;
  surviveAbort(response.body);
  const deadline = startDeadline(options.timeoutMs, options.signal);
  const chunks: Uint8Array[] = [];
  let size = 0;
  const finish = (end: PeekedBody['end']): PeekedBody => decoded(chunks, end);
  try {
    for (let piece = begun.first; ; piece = reader.read()) {
      const next = await untilAborted(piece, deadline.signal);
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
    // Not awaited, because one branch of a tee settles only when the other branch is cancelled too.
    reader.cancel().catch(() => undefined);
  }
}

/**
 * Lets a fetch be aborted after a copy of its body was cancelled. It then cancels the other copy,
 * which rejects, and Node 20 and 22 end the process by that rejection.
 */
function surviveAbort(body: Response['body']): void {
  if (body === null) return;
  const cancel = body.cancel.bind(body);
  body.cancel = (reason?: unknown) =>
    cancel(reason).catch((error: unknown) => {
      if (error !== reason) throw error;
    });
}

/** Whether a body is what official sellers send beside their header: nothing, or `{}`. */
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

/**
 * Whether the first bytes, after whitespace and a byte order mark, can begin a JSON object. Bytes
 * that are all whitespace can.
 */
function mayBeObject(bytes: Uint8Array): boolean {
  const isMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const first = bytes
    .subarray(isMark ? 3 : 0)
    .find((byte) => ![0x20, 0x09, 0x0a, 0x0d].includes(byte));
  return first === undefined || first === 0x7b;
}

function decoded(chunks: readonly Uint8Array[], end: PeekedBody['end']): PeekedBody {
  const bytes = joined(chunks);
  const text = new TextDecoder().decode(bytes);
  // A cut may fall inside a character, so only a whole body must be valid UTF-8.
  return { text, end: end === 'whole' && !isUtf8(bytes, text) ? 'broken' : end };
}

function lateBody(response: Response, timeoutMs: number): TransportError<'timeout'> {
  return new TransportError(
    'timeout',
    `The seller's payment terms did not arrive within ${timeoutMs} ms. Nothing was paid; try again.`,
    { details: { step: 'payment_required', timeoutMs }, response },
  );
}

/**
 * Returns why the seller refused a payment, in its own words, cleaned: v1 servers say it only in
 * the body. The reason is not known if the body is late, too long or cut off.
 */
export async function reasonInBody(
  response: Response,
  options: ReadOptions,
): Promise<{ readonly reason: string | undefined; readonly isKnown: boolean }> {
  const { text, end } = await peekBody(response, options);
  return {
    reason: reasonIn(fieldsOf(bodyObject(text))['error']),
    isKnown: end === 'whole' || end === 'dismissed',
  };
}
