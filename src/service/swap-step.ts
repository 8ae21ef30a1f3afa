import { ProtocolError, type ExactChangeError } from '../errors.js';
import { isPaid } from '../journal/open-payment.js';
import { swapBound } from '../payments/plan/swap-cost-bound.js';
import { choose } from '../payments/plan/choose.js';
import { earliestSlot, recordedBefore } from '../payments/reconcile/fate.js';
import { swapSource } from '../payments/reconcile/swap-end.js';
import type { PaymentResult } from '../transport.js';
import { afterSwap, firstOffer, planner } from './auto-pay.js';
import { landedBefore, throwIfFailed } from './landing.js';
import { pastBalance } from './past-balance.js';
import { planStep } from './plan-step.js';
import { readSigned, readSwap, type ReadSwap, type SignedBytes } from './read-swap.js';
import {
  findByKey,
  findSwap,
  isFor,
  keyTaken,
  otherPurchase,
  paysSame,
  swapPrint,
  type SwapAttempt,
} from './records.js';
import { answerIfOpen, raise, reserve, reservedFor, resultSoFar, type Step } from './step.js';
import { awaitSwapState, withinCallerWait } from './verdict.js';

/** Records and sends a signed swap, then plans the payment once the swap has landed. */
export async function swapStep(step: Step, bytes: Uint8Array): Promise<PaymentResult> {
  const { session, request } = step;
  const signed = await readSigned('signedSwap', request.wallet, bytes);
  const { signature } = signed;
  const known = await findSwap(session.context, signature);
  const sent = await (known === undefined ? sendFirst(step, signed) : finish(step, known));
  return 'state' in sent ? sent : afterSwap(signature, planStep(step, sent.slot));
}

/**
 * Milliseconds that count at most as waited before the first look: without a look, nothing is sent,
 * and each repeated step may have to take up the wallet as slowly.
 */
const MOST_WAITED_MS = 15_000;

/**
 * The caller's answer, until the swap has landed. Then the slot in which it landed, if the swap is
 * not on record: a plan reads that of recorded swaps itself.
 */
type Sent = PaymentResult | { readonly slot?: number };

async function finish(step: Step, attempt: SwapAttempt): Promise<Sent> {
  if (!isFor(step.purchase, attempt)) throw otherSwap(attempt.swap);
  if (isPaid(attempt)) return resultSoFar(step, attempt);
  return (await answerIfOpen(step, attempt)) ?? {};
}

/** The error for a swap that is on record for another purchase: its own error, if it has one. */
function otherSwap(swap: SwapAttempt['swap']): ExactChangeError {
  const { signature, outcome } = swap;
  if (outcome === undefined) return otherPurchase('signedSwap');
  return landedBefore(swap, outcome).error ?? otherPurchase('signedSwap', signature);
}

/**
 * Records a swap and sends it. It records no swap that is already in a block: any stranger can read
 * the bytes of such a swap, and could fill the wallet's budget with them. A swap that can no longer
 * land is not sent either.
 */
async function sendFirst(step: Step, signed: SignedBytes): Promise<Sent> {
  const { session, request, terms, signal } = step;
  const { context } = session;
  const swap = await readSwap(context, signed, signal);
  const verdict = await withinCallerWait(
    signal,
    (within) => awaitSwapState(context, signed, within),
    Math.min(step.waited(), MOST_WAITED_MS),
  );
  if (verdict?.outcome !== 'open') {
    // Another service over the same journal may have recorded and sent the swap meanwhile.
    const recorded = await findSwap(context, signed.signature);
    if (recorded !== undefined) return finish(step, recorded);
  }
  await throwIfFailed(context, signed, verdict);
  if (verdict?.outcome === 'open')
    return finish(step, await reserveSwap(step, signed, swap, verdict.slot));
  if (verdict?.outcome === 'confirmed') return { slot: verdict.slot };
  return {
    state: 'swap_submitted',
    signature: signed.signature,
    offer: firstOffer(terms, context.config.network, request.wallet),
  };
}

async function reserveSwap(
  step: Step,
  signed: SignedBytes,
  swap: ReadSwap,
  minContextSlot: number,
): Promise<SwapAttempt> {
  const { deps, session, request, terms, purchase, signal } = step;
  const { context } = session;
  const { runtime } = context.config;
  const planning = planner(deps, request, true);
  await planning.ready();
  const otherMint = new ProtocolError(
    'unsupported_offer',
    'The swap brings another token than the offer asks for. Plan the payment anew.',
    { details: { reason: 'asks for another token than the swap brings' } },
  );
  const choice = await choose(planning, terms, {
    host: purchase.host,
    signal,
    quote: false,
    refuse: ({ mint }) => (mint === swap.outputMint ? undefined : otherMint),
  });
  choice.protocol.checkHeader(choice.terms, choice.offer);
  // A blockhash expires no later than a newer blockhash, so the newest height is an upper bound.
  const { lastValidBlockHeight } = await context.rpc.latestBlockhash({ minContextSlot, signal });
  const reserved = reservedFor(step, choice, swapPrint(signed.signature));
  const { maxIn: _maxIn, minOut: _minOut, lamports: _lamports, ...read } = swap;
  const swapping = await swapBound(planning, swap, reserved, signal);
  const source = swapSource(swap, request.wallet);
  const before = await pastBalance(context, source, earliestSlot(minContextSlot), signal);
  const attempt: SwapAttempt = {
    ...reserved,
    swapping,
    swap: {
      ...read,
      signature: signed.signature,
      transaction: request.signedSwap ?? '',
      blockhash: signed.decoded.blockhash,
      blockhashSlot: minContextSlot,
      ...recordedBefore(before),
      lastValidBlockHeight: lastValidBlockHeight.toString(),
    },
  };
  return session.exclusively(async () => {
    const recorded = await findSwap(context, signed.signature);
    if (recorded !== undefined) return recorded;
    const bearer = await findByKey(context, purchase);
    if (bearer === undefined) {
      await reserve(context, attempt);
      return attempt;
    }
    // The purchase may get another swap only after its last swap is decided and brought too little.
    const isDecided = bearer.state === 'reserved' && bearer.swap?.outcome !== undefined;
    if (!isDecided || !paysSame(bearer, attempt)) throw keyTaken();
    const next = {
      ...bearer,
      fingerprint: attempt.fingerprint,
      at: runtime.now(),
      swap: attempt.swap,
      swapping,
    };
    await raise(context, next).catch(async (error: unknown) => {
      await session.releaseClaim(next.id).catch(() => undefined);
      throw error;
    });
    void session.landSwap(next);
    return next;
  }, signal);
}
