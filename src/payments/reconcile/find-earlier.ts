import type { Emit } from '../../events.js';
import { hex } from '../../internal/bytes.js';
import type { Call } from '../../internal/request.js';
import { sha256 } from '../../internal/sha2.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { claimsReleased } from '../execute/release-claim.js';
import { recovery } from '../on-demand.js';
import { inProgress, unread } from './key-errors.js';

/** A call that may be the same purchase as one before. */
export interface RepeatedCall {
  readonly fingerprint: string;
  readonly idempotencyKey: string | undefined;
  /** On the caller's word the request may reach the seller twice. */
  readonly repeatable: boolean;
  readonly call: Call;
  readonly emit: Emit;
  readonly startedAt: number;
  /** Called if there are earlier attempts: their end may take minutes. */
  readonly onEarlier: () => void;
}

/**
 * Looks for earlier attempts at the same request whose answer did not reach its caller, before any
 * terms are looked at, and has the chain decide them first, as `settle-earlier.ts` says, which is
 * loaded only if there are similar ones. Undefined if the way is free for a new one.
 */
export async function resumeEarlierPayment(
  context: PaymentContext,
  repeat: RepeatedCall,
): Promise<Response | undefined> {
  await claimsReleased(context, repeat.call.signal);
  const { fingerprint, idempotencyKey } = repeat;
  const similar = await context.journal
    .similar(ownerOf(context), fingerprint, idempotencyKey)
    .catch(unread);
  if (similar.length === 0) return undefined;
  const { settleEarlier } = await recovery('uncertain', repeat.call.signal);
  return settleEarlier(context, similar, repeat);
}

/**
 * Makes a purchase as the only one in this process under its idempotency key: two that start
 * together would both find no earlier attempt.
 * Throws `payment_in_progress` if another call is making it.
 */
export async function underKey<T>(
  { wallet }: PaymentContext,
  idempotencyKey: string | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (idempotencyKey === undefined) return work();
  if (wallet.keys.has(idempotencyKey)) throw inProgress({});
  wallet.keys.add(idempotencyKey);
  try {
    return await work();
  } finally {
    wallet.keys.delete(idempotencyKey);
  }
}

/** What a request is told by. */
export interface RequestFacts {
  readonly method: string;
  /** As the caller gave it: where redirects lead may change from call to call. */
  readonly url: string;
  readonly headers: Headers;
}

/**
 * The same for equal requests: method, URL and body. The seller's terms are not in it: a seller
 * that could change them between two 402s, by one unit of price or another payee, could have one
 * request paid twice. Nor is a form's boundary, which is drawn anew for each call.
 */
export function fingerprintOf(
  { method, url, headers }: RequestFacts,
  body: Uint8Array | undefined,
): string {
  const boundary = /^multipart\/[^;]+;.*?boundary="?([^";]{1,200})/i.exec(
    headers.get('content-type') ?? '',
  )?.[1];
  const content =
    body === undefined ? new Uint8Array() : boundary === undefined ? body : without(body, boundary);
  const parts = [method, url.replace(/#.*/s, ''), hex.encode(sha256(content))];
  return hex.encode(sha256(new TextEncoder().encode(JSON.stringify(parts))));
}

/** One character for each byte and back, so that text can be taken out of any bytes. */
function without(body: Uint8Array, text: string): Uint8Array {
  const characters = new TextDecoder('latin1').decode(body);
  return new TextEncoder().encode(characters.split(text).join(''));
}
