import { TransportError } from '../errors.js';
import { untilAborted } from '../internal/abort.js';
import { isFromService } from '../journal/attempt-names.js';
import { isPaid, type SignedAttempt } from '../journal/open-payment.js';
import type { Attempt } from '../journal/types.js';
import type { PaymentContext } from '../payments/context.js';
import { spendOf, type Choice } from '../payments/plan/choose.js';
import { isForgottenPayment } from '../payments/reconcile/forgotten.js';
import { attemptsInState } from '../payments/reconcile/resume-once.js';
import { capsFor } from '../policy/caps.js';
import { assertPayable } from '../policy/refusals.js';
import { blockedBy } from '../policy/over-budget.js';
import type { PaymentRequired } from '../protocols/types.js';
import type { AutoPayRequest, ParsedOffer, PaymentResult } from '../transport.js';
import { firstOffer, type AutoPayDeps } from './auto-pay.js';
import { parsedOffer, readableOffers } from './parse-payment.js';
import {
  idOf,
  keyTaken,
  paysSame,
  type PaidFor,
  type Purchase,
  type SwapAttempt,
} from './records.js';
import { withinCallerWait } from './verdict.js';
import type { WalletSession } from './wallet-sessions.js';

export interface Step {
  readonly deps: AutoPayDeps;
  readonly session: WalletSession;
  readonly request: AutoPayRequest;
  readonly terms: PaymentRequired;
  readonly purchase: Purchase;
  readonly signal: AbortSignal | undefined;
  /** Returns the milliseconds since the caller asked. */
  readonly waited: () => number;
}

/**
 * Creates the attempt of a purchase, to be recorded before anything is sent. `print` identifies the
 * signed bytes in the journal.
 */
export function reservedFor(
  { session, purchase }: Step,
  choice: Pick<Choice, 'offer' | 'microUsd'>,
  print: string,
): Attempt {
  const { config } = session.context;
  const { url, host, idempotencyKey } = purchase;
  return {
    ...{
      id: idOf(print),
      wallet: config.signer.address,
      network: config.network,
      state: 'reserved',
      delivered: false,
    },
    // The service does not know the method of the caller's request.
    ...{ url, method: 'GET', fingerprint: print, at: config.runtime.now() },
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...spendOf(choice, host),
  };
}

/**
 * The most open purchases of a wallet at a service: each plan asks the chain about them, and any
 * caller can open purchases.
 */
const MAX_OPEN = 32;
/** Milliseconds to wait: about the life of a blockhash, after which a purchase is decided. */
const OPEN_MS = 60_000;

async function checkOpen(context: PaymentContext): Promise<void> {
  const attempts = [
    ...(await attemptsInState(context, 'reserved')),
    ...(await attemptsInState(context, 'signed')),
  ].filter(isFromService);
  if (attempts.length < MAX_OPEN) return;
  const forgotten = await Promise.all(
    attempts.map(async (attempt) => isPaid(attempt) && isForgottenPayment(context, attempt)),
  );
  const open = forgotten.filter((isGone) => !isGone).length;
  if (open < MAX_OPEN) return;
  throw new TransportError(
    'rate_limited',
    `The wallet has ${open} open purchases at this service, the most that it keeps. Wait until the chain has decided some of them.`,
    { details: { retryAfterMs: OPEN_MS } },
  );
}

/**
 * Reserves an attempt in the budget, within the service's caps. The attempt gets its claim in the
 * same write, so that no process sees it without a claim.
 */
export async function reserve(context: PaymentContext, attempt: Attempt): Promise<void> {
  const { policy } = context.config;
  assertPayable(policy, attempt);
  await checkOpen(context);
  const { id } = attempt;
  const done = await context.journal
    .reserve(attempt, capsFor(policy, attempt), { claim: [id] })
    .catch(async (error: unknown) => {
      // The journal may have written the attempt although it failed.
      await context.claims.drop([id]).catch(() => undefined);
      throw error;
    });
  if (done !== undefined && 'taken' in done) throw keyTaken();
  if (done !== undefined && 'cap' in done) throw blockedBy(done, attempt);
}

/**
 * Reserves the bound of another swap for a reserved attempt, within the service's caps. It takes
 * the claim again, because the end of the last swap may have released it.
 */
export async function raise(
  { journal, config, claims }: PaymentContext,
  attempt: Attempt,
): Promise<void> {
  assertPayable(config.policy, attempt);
  await claims.take([attempt.id]);
  const refused = await journal.raise(attempt, capsFor(config.policy, attempt));
  if (refused !== undefined) throw blockedBy(refused, attempt);
}

/**
 * Waits a while for the end of an attempt's swap, and throws the swap's error if it failed. Returns
 * the answer for the caller if the swap is still open; undefined once the swap has landed.
 */
export async function answerIfOpen(
  step: Step,
  attempt: SwapAttempt,
): Promise<PaymentResult | undefined> {
  const { session, signal } = step;
  const landed = await withinCallerWait(
    signal,
    (within) => untilAborted(session.landSwap(attempt), within),
    step.waited(),
  );
  if (landed?.error !== undefined) throw landed.error;
  if (landed !== undefined) return undefined;
  const { id, swap } = attempt;
  return { state: 'swap_submitted', id, signature: swap.signature, offer: offerFor(step, attempt) };
}

/**
 * Returns the result of a recorded payment. Only a caller that sent the signed payment gets its
 * header. The seller serves the first request with the header, and a wallet's address, a key or a
 * landed swap is no secret.
 */
export function resultSoFar(step: Step, attempt: SignedAttempt): PaymentResult {
  const { id, state, receipt, payment } = attempt;
  const { header, payerSignature, lastValidBlockHeight } = payment;
  const about = { id, offer: offerFor(step, attempt), payerSignature, lastValidBlockHeight };
  if (state === 'unsettled') return { state: 'failed', ...about };
  const { signature } = receipt.payment;
  if (state === 'settled')
    return { state: 'settled', ...about, ...(signature === undefined ? {} : { signature }) };
  return {
    state: 'submitted',
    ...about,
    ...(step.request.signedPayment === undefined ? {} : { header }),
  };
}

/**
 * Returns the offer of the 402 that an attempt is for, or else the first offer that can be paid.
 */
function offerFor(step: Step, attempt: PaidFor): ParsedOffer {
  const { terms, request, deps } = step;
  return findOffer(step, attempt) ?? firstOffer(terms, deps.settings.network, request.wallet);
}

/**
 * Whether the 402 asks for exactly what an attempt pays. With another payee or amount, the attempt
 * was for another purchase.
 */
export function isOffered(step: Step, attempt: PaidFor): boolean {
  return findOffer(step, attempt) !== undefined;
}

function findOffer({ terms, request, deps }: Step, attempt: PaidFor): ParsedOffer | undefined {
  const { network } = deps.settings;
  for (const { envelope, reading } of readableOffers(terms, network, request.wallet)) {
    const { offer } = reading;
    if (paysSame({ ...offer, amount: offer.amount.toString() }, attempt))
      return parsedOffer(reading, envelope);
  }
  return undefined;
}
