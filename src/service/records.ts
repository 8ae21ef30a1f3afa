import { sha256 } from '../internal/sha2.js';
import { hex } from '../internal/bytes.js';
import { ConfigError } from '../errors.js';
import { FROM_SERVICE, isFromService } from '../journal/attempt-names.js';
import type { Attempt } from '../journal/types.js';
import { ownerOf, type PaymentContext } from '../payments/context.js';
import type { Spend } from '../policy/caps.js';

/** An attempt that signed a swap. */
export type SwapAttempt = Attempt & { readonly swap: NonNullable<Attempt['swap']> };
/** An attempt with a signed payment. */
export type PaidAttempt = Attempt & Required<Pick<Attempt, 'payment' | 'receipt'>>;

/** What a wallet buys: where, and under which key. */
export interface Purchase {
  readonly url: string;
  readonly host: string;
  readonly idempotencyKey: string | undefined;
}

const ID_BYTES = 12;
// The bytes of a swap are worthless after minutes, whatever clocks say.
const LOOK_BACK_MS = 24 * 60 * 60_000;

// What we are handed is told by its signature; a request, which is what clients are told by, we do
// not see.
export const swapPrint = (signature: string): string => `${FROM_SERVICE}swap ${signature}`;
export const paymentPrint = (payerSignature: string): string =>
  `${FROM_SERVICE}payment ${payerSignature}`;

/** The id of the attempt that begins with a signature: the same bytes never make two. */
export function idOf(print: string): string {
  return hex.encode(sha256(new TextEncoder().encode(print)).subarray(0, ID_BYTES));
}

export function hasSwap(attempt: Attempt): attempt is SwapAttempt {
  return attempt.swap !== undefined;
}

export function isPaid(attempt: Attempt): attempt is PaidAttempt {
  return attempt.payment !== undefined && attempt.receipt !== undefined;
}

/** The attempt with a swap's bytes. */
export async function findSwap(
  context: PaymentContext,
  signature: string,
): Promise<SwapAttempt | undefined> {
  const since = context.config.runtime.now() - LOOK_BACK_MS;
  for await (const attempt of context.journal.attempts(ownerOf(context), { since })) {
    if (hasSwap(attempt) && attempt.swap.signature === signature) return attempt;
  }
  return undefined;
}

/** The attempt with a payment's bytes, however old. */
export async function findPaid(
  context: PaymentContext,
  payerSignature: string,
): Promise<PaidAttempt | undefined> {
  const found = await context.journal.similar(
    ownerOf(context),
    paymentPrint(payerSignature),
    undefined,
  );
  return found.filter(isPaid).find(({ payment }) => payment.payerSignature === payerSignature);
}

/** The reserved attempt of an id, as it stands. */
export async function findReserved(
  context: PaymentContext,
  id: string,
): Promise<Attempt | undefined> {
  for await (const attempt of context.journal.attempts(ownerOf(context), { state: 'reserved' }))
    if (attempt.id === id) return attempt;
  return undefined;
}

/**
 * The attempt whose swap has landed for the same purchase, and that no payment was signed for yet.
 */
export async function findFunded(
  context: PaymentContext,
  purchase: Purchase,
  spend: Spend,
): Promise<SwapAttempt | undefined> {
  const { url, idempotencyKey } = purchase;
  for await (const attempt of context.journal.attempts(ownerOf(context), { state: 'reserved' })) {
    if (!isFromService(attempt) || !hasSwap(attempt) || attempt.swap.outcome?.state !== 'confirmed')
      continue;
    if (attempt.url !== url || attempt.idempotencyKey !== idempotencyKey) continue;
    if (
      attempt.payTo === spend.payTo &&
      attempt.mint === spend.mint &&
      attempt.amount === spend.amount
    )
      return attempt;
  }
  return undefined;
}

/**
 * The attempt that has a purchase's key, and has not come to nothing. Throws `idempotency_mismatch`
 * if that is for something else.
 */
export async function bearerOf(
  context: PaymentContext,
  { url, idempotencyKey }: Purchase,
): Promise<Attempt | undefined> {
  if (idempotencyKey === undefined) return undefined;
  const all = await context.journal.similar(ownerOf(context), '', idempotencyKey);
  const bearer = all.find(({ state }) => state !== 'unsettled' && state !== 'abandoned');
  if (bearer !== undefined && (bearer.url !== url || !isFromService(bearer))) throw keyTaken();
  return bearer;
}

export function keyTaken(): ConfigError {
  return new ConfigError(
    'idempotency_mismatch',
    'Another payment under this idempotencyKey has settled or may still land. Present that one; for another purchase, give a new key.',
    { details: {} },
  );
}
