import type { Emit } from '../../events.js';
import { hex } from '../../internal/hex.js';
import type { Call } from '../../internal/request.js';
import { sha256 } from '../../internal/sha2.js';
import type { OpenPayment } from '../../journal/open-payment.js';
import type { Attempt } from '../../journal/types.js';
import { ownerOf, type PaymentContext } from '../context.js';
import { bodyClaim, claimsReleased } from '../execute/release-claim.js';
import { recovery } from '../on-demand.js';
import { inProgress, mismatch, unread } from './key-errors.js';

/** How many windows a caller has that was being told when its process ended. */
const UNHEARD_WINDOWS = 10;

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
 * loaded only if there are any. Undefined if the way is free for a new one.
 */
export async function resumeEarlierPayment(
  context: PaymentContext,
  repeat: RepeatedCall,
): Promise<Response | undefined> {
  await claimsReleased(context, repeat.call.signal);
  const earlier = await findEarlier(context, repeat);
  if (earlier.length === 0) return undefined;
  repeat.onEarlier();
  const { settleEarlier } = await recovery('uncertain');
  return settleEarlier(context, earlier, repeat);
}

async function findEarlier(
  context: PaymentContext,
  { fingerprint, idempotencyKey }: RepeatedCall,
): Promise<OpenPayment['attempt'][]> {
  const { runtime, retryWindow } = context.config;
  const found: OpenPayment['attempt'][] = [];
  const { similar, isAtWork } = await readSimilar(context, fingerprint, idempotencyKey).catch(
    unread,
  );
  for (const attempt of similar) {
    const { payment, receipt, state, delivered } = attempt;
    if (idempotencyKey !== undefined && attempt.fingerprint !== fingerprint) throw mismatch();
    if (payment === undefined || receipt === undefined || state === 'unsettled') continue;
    if (idempotencyKey !== undefined && isAtWork(attempt.id))
      throw inProgress({ payerSignature: payment.payerSignature });
    // Parallel calls without a key are separate purchases, and so are later ones once the answer
    // arrived, or was told to be lost.
    const isUnderWay = isAtWork(attempt.id) || isAtWork(bodyClaim(attempt.id));
    const lost =
      !delivered &&
      !isUnderWay &&
      !similar.some((later) => later.resigns === attempt.id && later.delivered);
    const untold = isUntold(attempt, runtime.now(), retryWindow);
    if (idempotencyKey !== undefined || (lost && untold))
      found.push({ ...attempt, payment, receipt });
  }
  const isFound = (id: string) => found.some((one) => one.id === id);
  const replaces = ({ resigns, payment, state, id }: Attempt, replaced: string) =>
    resigns === replaced && payment !== undefined && state !== 'unsettled' && !isFound(id);
  // One whose successor is at work, or was told of, is left alone with it.
  return found.filter(({ id }) => !similar.some((later) => replaces(later, id)));
}

interface SimilarAttempts {
  readonly similar: readonly Attempt[];
  /** Whether a call holds a claim. */
  isAtWork(claim: string): boolean;
}

async function readSimilar(
  context: PaymentContext,
  fingerprint: string,
  idempotencyKey: string | undefined,
): Promise<SimilarAttempts> {
  const read = () => context.journal.similar(ownerOf(context), fingerprint, idempotencyKey);
  const first = await read();
  const asked = first
    .filter(({ payment, delivered }) => payment && (idempotencyKey !== undefined || !delivered))
    .flatMap(({ id }) => [id, bodyClaim(id)]);
  if (asked.length === 0) return { similar: first, isAtWork: () => false };
  const live = await context.claims.live(asked);
  const over = new Set(asked.filter((claim) => !live.has(claim)));
  // Again: one whose claim had ended by now may be on record as delivered, which the first reading
  // was too early for. What was signed in between is at work.
  return { similar: over.size === 0 ? first : await read(), isAtWork: (claim) => !over.has(claim) };
}

/**
 * Whether a caller may not have heard that it is paid, or so lately that an equal call means the
 * same purchase.
 */
function isUntold({ toldAt, tellingAt }: Attempt, now: number, retryWindow: number): boolean {
  if (toldAt !== undefined) return now - toldAt <= retryWindow;
  return tellingAt === undefined || now - tellingAt <= retryWindow * UNHEARD_WINDOWS;
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
