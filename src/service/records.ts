import { sha256 } from '../internal/sha2.js';
import { hex } from '../internal/bytes.js';
import { ConfigError } from '../errors.js';
import { FROM_SERVICE, isFromService } from '../journal/attempt-names.js';
import { isPaid, type SignedAttempt } from '../journal/open-payment.js';
import type { Attempt } from '../journal/types.js';
import { ownerOf, type PaymentContext } from '../payments/context.js';
import { attemptsInState } from '../payments/reconcile/resume-once.js';

export type SwapAttempt = Attempt & { readonly swap: NonNullable<Attempt['swap']> };

export interface Purchase {
  readonly url: string;
  readonly host: string;
  readonly idempotencyKey: string | undefined;
}

const ID_BYTES = 12;
// A swap's blockhash expires within minutes; a day covers clocks that are wrong.
const LOOK_BACK_MS = 24 * 60 * 60_000;

// The service finds signed bytes by their signature. It cannot use the fingerprint of a request, as
// clients do, because it never sees the request.
export const swapPrint = (signature: string): string => `${FROM_SERVICE}swap ${signature}`;
export const paymentPrint = (payerSignature: string): string =>
  `${FROM_SERVICE}payment ${payerSignature}`;

/**
 * Returns the id of an attempt from the print of its first signed bytes, so that repeats share it.
 */
export function idOf(print: string): string {
  return hex.encode(sha256(new TextEncoder().encode(print)).subarray(0, ID_BYTES));
}

export function hasSwap(attempt: Attempt): attempt is SwapAttempt {
  return attempt.swap !== undefined;
}

/**
 * Finds the attempt with the signature of a swap, among the attempts of the last day. It may be a
 * client's, or for another purchase: see {@link isFor}.
 */
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

/** Finds the attempt with a signed payment, however old the attempt is. */
export async function findPaid(
  context: PaymentContext,
  payerSignature: string,
): Promise<SignedAttempt | undefined> {
  const found = await context.journal.similar(
    ownerOf(context),
    paymentPrint(payerSignature),
    undefined,
  );
  return found.filter(isPaid).find(({ payment }) => payment.payerSignature === payerSignature);
}

export async function findReserved(
  context: PaymentContext,
  id: string,
): Promise<Attempt | undefined> {
  return (await attemptsInState(context, 'reserved')).find((attempt) => attempt.id === id);
}

/** Finds the attempt for the same purchase with a landed swap and without a signed payment. */
export async function findFunded(
  context: PaymentContext,
  purchase: Purchase,
  spend: PaidFor,
): Promise<SwapAttempt | undefined> {
  return (await findSwapped(context)).find(
    (attempt) => isFor(purchase, attempt) && paysSame(attempt, spend),
  );
}

/** Whether an attempt is the service's, and for a purchase. A client works on its own attempts. */
export function isFor(
  { url, idempotencyKey }: Pick<Purchase, 'url' | 'idempotencyKey'>,
  attempt: Attempt,
): boolean {
  return isFromService(attempt) && attempt.url === url && attempt.idempotencyKey === idempotencyKey;
}

/** Advice on signed bytes of a payment that the service cannot find or may not tell of. */
export const MAY_HAVE_PAID =
  'It may have paid already: look at the transactions of the wallet before you plan the payment anew.';

/**
 * The error for signed bytes that are on record for another purchase: the result of that purchase
 * would be wrong for this one.
 *
 * @param landed - Signature of the swap, if it has landed. Otherwise the bytes may still land.
 */
export function otherPurchase(
  option: 'signedSwap' | 'signedPayment',
  landed?: string,
): ConfigError {
  const advice = option === 'signedSwap' ? 'Plan this one without it.' : MAY_HAVE_PAID;
  return new ConfigError(
    'invalid_option',
    `Option ${option} is on record for another purchase. ${advice}`,
    {
      details: { option },
      ...(landed === undefined
        ? { funds: 'uncertain' }
        : { funds: 'swapped', moved: [{ kind: 'swap', signature: landed }] }),
    },
  );
}

/** Finds the attempts with a landed swap and without a signed payment. */
export async function findSwapped(context: PaymentContext): Promise<SwapAttempt[]> {
  const reserved = await attemptsInState(context, 'reserved');
  return reserved.filter(hasSwap).filter(({ swap }) => swap.outcome?.state === 'confirmed');
}

export type PaidFor = Pick<Attempt, 'payTo' | 'mint' | 'amount'>;

export function paysSame(one: PaidFor, other: PaidFor): boolean {
  return one.payTo === other.payTo && one.mint === other.mint && one.amount === other.amount;
}

/**
 * Finds the attempt that has the purchase's key and is neither unsettled nor abandoned. Throws
 * `idempotency_mismatch` if that attempt is for another URL, or is a client's.
 */
export async function findByKey(
  context: PaymentContext,
  { url, idempotencyKey }: Purchase,
): Promise<Attempt | undefined> {
  if (idempotencyKey === undefined) return undefined;
  const attempts = await context.journal.similar(ownerOf(context), '', idempotencyKey);
  const bearer = attempts.find(({ state }) => state !== 'unsettled' && state !== 'abandoned');
  if (bearer !== undefined && (bearer.url !== url || !isFromService(bearer))) throw keyTaken();
  return bearer;
}

export function keyTaken(): ConfigError {
  return new ConfigError(
    'idempotency_mismatch',
    'Another payment was begun under this idempotencyKey. It may have settled or may still land: finish that one, or give a new key for another purchase.',
    { details: {} },
  );
}
