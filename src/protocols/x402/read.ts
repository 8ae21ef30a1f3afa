import { untilAborted } from '../../internal/abort.js';
import { part } from '../../internal/load-once.js';
import type { ReadOptions } from '../protocol.js';
import type { PaymentRequired } from '../types.js';
import { JSON_LIMITS } from './json.js';
import { fromHeader, isReadable, withUrl } from './parse.js';

/** Bodies, and why offers are not payable: what a payment by a good header alone does without. */
export const rareTerms = /* @__PURE__ */ part(() => import('./rare.js'));

const JSON_TYPE = /^\s*[a-z]+\/(?:[a-z0-9.-]+\+)?json\b/i;

/**
 * The payment terms of a response, or undefined if it is no payment request. The response itself
 * stays as it is, its body unread.
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
    return withUrl(header, url === '' ? undefined : url);
  const begun = beginBody(response);
  const { readWithBody } = await untilAborted(rareTerms(), options.signal).catch(
    (error: unknown) => {
      begun?.reader.cancel().catch(() => undefined);
      throw error;
    },
  );
  return readWithBody(response, options, begun);
}

/** A copy of a body of which something is asked for. */
export interface BegunBody {
  readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly first: Promise<ReadableStreamReadResult<Uint8Array>>;
}

/** Never JSON, and some of them never end. */
const STREAMS = /^\s*(?:text\/event-stream|multipart\/|image\/|audio\/|video\/|font\/)/i;

/**
 * Begins to read a copy of a body: what has come is lost if the rest breaks off before it is asked
 * for. Undefined if it cannot be JSON, or there is none.
 */
export function beginBody(response: Response): BegunBody | undefined {
  if (STREAMS.test(response.headers.get('content-type') ?? '')) return undefined;
  // `locked` is missing if there is no body, or no stream to read one from.
  if (response.bodyUsed || response.body?.locked !== false) return undefined;
  const reader = response.clone().body?.getReader();
  if (reader === undefined) return undefined;
  const first = reader.read();
  first.catch(() => undefined);
  return { reader, first };
}

/** v2 servers answer `{}` beside the header; only a JSON body with more in it is worth a look. */
export function mayHoldFallback(headers: Headers): boolean {
  if (!JSON_TYPE.test(headers.get('content-type') ?? '')) return false;
  const length = headers.get('content-length');
  return length === null || (Number(length) > 2 && Number(length) <= JSON_LIMITS.characters);
}
