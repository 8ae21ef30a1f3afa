import { untilAborted } from '../../internal/abort.js';
import { hex } from '../../internal/bytes.js';
import { refuse } from '../../internal/options.js';
import { sha256 } from '../../internal/sha2.js';
import type { Attempt } from '../../journal/types.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { claimsReleased } from '../execute/release-claim.js';
import { recovery } from '../on-demand.js';
import type { Buying } from '../task.js';
import { resumeOnce } from './resume-once.js';

/**
 * Looks for earlier attempts at the same request if their response did not reach the caller. Lets
 * the chain decide them before the seller's terms are read. Returns undefined if a new attempt may
 * start.
 *
 * `settle-earlier.ts` does the work. It is loaded only if the journal has similar attempts.
 */
export async function resumeEarlierPayment(
  context: PaymentContext,
  buying: Buying,
): Promise<Response | undefined> {
  const { signal } = buying;
  const similar = await readEarlier(context, buying).catch(async (error: unknown) =>
    (await recovery(signal, 'uncertain')).throwUnread(error),
  );
  if (similar.length === 0) return undefined;
  const { settleEarlier } = await recovery(signal, 'uncertain');
  return settleEarlier(context, similar, buying);
}

async function readEarlier(
  context: PaymentContext,
  { place: { fingerprint, idempotencyKey }, signal }: Buying,
): Promise<readonly Attempt[]> {
  await untilAborted(resumeOnce(context), signal);
  await claimsReleased(context, signal);
  const reading = context.journal.similar(ownerOf(context), fingerprint, idempotencyKey);
  return untilAborted(reading, signal);
}

/**
 * Runs a purchase. Throws `payment_in_progress` if a call with the same idempotency key is running
 * in this process, because two concurrent calls would both find no earlier attempt.
 */
export async function underKey<T>(
  { wallet }: PaymentContext,
  idempotencyKey: string | undefined,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (idempotencyKey === undefined) return work();
  // A JavaScript caller may pass the number of an order, which no journal can keep as a key. Empty
  // text, such as of a variable that is not set, would be the same key for all calls.
  const key: unknown = idempotencyKey;
  if (typeof key !== 'string' || key === '')
    throw refuse('idempotencyKey', 'must be a string, and not empty.');
  if (wallet.keys.has(idempotencyKey)) throw (await recovery(signal, 'uncertain')).inProgress({});
  wallet.keys.add(idempotencyKey);
  try {
    return await work();
  } finally {
    wallet.keys.delete(idempotencyKey);
  }
}

export interface RequestFacts {
  readonly method: string;
  /** URL as the caller gave it, because redirects may lead elsewhere at each call. */
  readonly url: string;
  header(name: string): string | undefined;
}

/**
 * Returns a hash of method, URL and body: the same for equal requests. It leaves out the seller's
 * terms, because a seller that changes them between two 402s could have a request paid twice. It
 * leaves out a form's boundary too, because each call draws a new boundary.
 */
export function fingerprintOf(
  { method, url, header }: RequestFacts,
  body: Uint8Array | undefined,
): string {
  const boundary = /^multipart\/[^;]+;.*?boundary="?([^";]{1,200})/i.exec(
    header('content-type') ?? '',
  )?.[1];
  const content =
    body === undefined ? new Uint8Array() : boundary === undefined ? body : without(body, boundary);
  const parts = [method, url.replace(/#.*/s, ''), hex.encode(sha256(content))];
  return hex.encode(sha256(new TextEncoder().encode(JSON.stringify(parts))));
}

/**
 * Removes a text from a body. Takes each byte as one character, so that any bytes work. Runtimes
 * decode `latin1` differently, and a later process on another runtime must find the payment.
 */
function without(body: Uint8Array, text: string): Uint8Array {
  const characters = new TextDecoder('utf-16le').decode(new Uint16Array(body));
  return new TextEncoder().encode(characters.split(text).join(''));
}
