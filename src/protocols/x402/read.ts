import { lazyPart } from '../../internal/load-once.js';
import type { ReadOptions } from '../protocol.js';
import type { PaymentRequired } from '../types.js';
import { JSON_LIMITS } from './json.js';
import { fromHeader, isReadable, withUrl } from './parse.js';

/** Loads the code for bodies and refusals. A payment by a good header alone does not need it. */
export const rareTerms = /* @__PURE__ */ lazyPart(() => import('./rare.js'));

const JSON_TYPE = /^\s*[a-z]+\/(?:[a-z0-9.-]+\+)?json\b/i;

/**
 * Returns the payment terms of a response, or undefined if it is no payment request. The body of
 * the response stays unread.
 */
export async function readPaymentRequired(
  response: Response,
  options: ReadOptions,
): Promise<PaymentRequired | undefined> {
  if (response.status !== 402) return undefined;
  if (options.signal?.aborted === true) throw options.signal.reason;
  const { headers, url } = response;
  const header = fromHeader({ headers }, 'payment-required');
  if (isReadable(header) && (header.x402Version === 1 || !mayHoldFallback(headers)))
    return withUrl(header, url || undefined);
  const begun = beginBody(response);
  const { readWithBody } = await rareTerms(options.signal);
  return readWithBody(response, options, begun);
}

/** A copy of a body, with its first read in progress. */
export interface BegunBody {
  readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly first: Promise<ReadableStreamReadResult<Uint8Array>>;
}

/** Content types that are never JSON; some of these bodies never end. */
const STREAMS = /^\s*(?:text\/event-stream|multipart\/|image\/|audio\/|video\/|font\/)/i;

/**
 * Begins to read a copy of the body. An early read matters: if the body breaks off later, the
 * chunks that were not read yet are lost. Undefined if the body cannot be JSON or is missing.
 */
export function beginBody(response: Response): BegunBody | undefined {
  if (STREAMS.test(response.headers.get('content-type') ?? '')) return undefined;
  // `locked` is missing if there is no body, or no stream to read it from.
  if (response.bodyUsed || response.body?.locked !== false) return undefined;
  const reader = response.clone().body?.getReader();
  if (reader === undefined) return undefined;
  const first = reader.read();
  first.catch(() => undefined);
  return { reader, first };
}

/**
 * Whether the body may hold terms. v2 servers send `{}` beside the header, which is no fallback.
 */
export function mayHoldFallback(headers: Headers): boolean {
  if (!JSON_TYPE.test(headers.get('content-type') ?? '')) return false;
  const length = headers.get('content-length');
  return length === null || (Number(length) > 2 && Number(length) <= JSON_LIMITS.characters);
}
