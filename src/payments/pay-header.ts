import { ProtocolError, type Moved } from '../errors.js';
import { untilAborted } from '../internal/abort.js';
import { detectTerms, firstTerms } from '../protocols/protocol.js';
import { refuse, refuseUnknown } from '../internal/options.js';
import { parseUrl } from '../internal/parse.js';
import { isRecord } from '../internal/record.js';
import { announceCall } from '../journal/registry.js';
import type { PaymentRequired } from '../protocols/types.js';
import type { Receipt } from '../receipt.js';
import { newId, type PaymentContext } from './context.js';
import { copyOfReceipt } from './attempt-receipt.js';
import { bodyClaim, releaseClaims } from './execute/release-claim.js';
import { afterPurchase, signFor } from './pay.js';
import { checkOrigin } from './plan/request-problem.js';
import { monitorPayment } from './reconcile/payment-monitor.js';
import { resumeOnce } from './reconcile/resume-once.js';

/** Options of `client.pay`. */
export interface PayOptions {
  /**
   * The URL that the payment is for. Caps for hosts count by it. You may leave it out if you give a
   * response, or terms that this library has read from a response.
   */
  readonly url?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A payment for callers that do their own HTTP. */
export interface Payment {
  /** Request header. Send it once, to the URL that asked for payment, never across a redirect. */
  readonly header: { readonly name: string; readonly value: string };
  /** The receipt as of the signature. `client.receipts()` shows what became of the payment. */
  readonly receipt: Receipt;
}

export async function payHeader(
  context: PaymentContext,
  paymentRequired: PaymentRequired | Response,
  options: PayOptions,
): Promise<Payment> {
  refuseUnknown(options, ['url', 'signal']);
  const { url, signal } = options;
  const startedAt = context.config.runtime.now();
  const terms = await untilAborted(readTerms(context, paymentRequired, signal), signal);
  const payUrl = url ?? terms.url;
  if (payUrl === undefined)
    throw refuse(
      'url',
      'is missing: the terms do not say where they come from. Give the address that asked for payment.',
    );
  if (parseUrl(payUrl) === undefined)
    throw refuse('url', 'is no address. Give the one that asked for payment.');
  checkOrigin(payUrl);
  const id = newId(context);
  const emit = context.events.emitter(id);
  const moved: Moved[] = [];
  const onCounted = announceCall(context.wallet);
  try {
    await untilAborted(Promise.all([context.nextTurn(), context.ready()]), signal);
    await untilAborted(resumeOnce(context), signal);
    // The id serves as the fingerprint, so that no other call takes up this payment: only the
    // caller knows the request that the header goes with.
    const place = { url: payUrl, method: 'GET', fingerprint: id };
    const task = { id, place, signal, emit, moved, startedAt, onCounted };
    const open = await signFor(context)(terms, task);
    // Follow the payment on the chain, because this client presents nothing and gets no answer.
    void monitorPayment(context, open, emit);
    await releaseClaims(context, open, [id, bodyClaim(id)], signal);
    const { payment, receipt } = open.attempt;
    return { header: { ...payment.header }, receipt: copyOfReceipt(receipt) };
  } catch (error) {
    throw afterPurchase(error, { emit, moved });
  } finally {
    onCounted();
  }
}

/**
 * Reads the terms of a 402. Terms that this library has read already are returned as they are. Any
 * other object is read as a response body, without the URL that it comes from.
 */
async function readTerms(
  context: PaymentContext,
  paymentRequired: PaymentRequired | Response,
  signal: AbortSignal | undefined,
): Promise<PaymentRequired> {
  const { config, protocols } = context;
  const terms = isResponse(paymentRequired)
    ? await detectTerms(protocols, paymentRequired, { timeoutMs: config.timeouts.terms, signal })
    : protocols.some((protocol) => protocol.owns(paymentRequired))
      ? paymentRequired
      : await firstTerms(protocols, (protocol) => protocol.parse(paymentRequired));
  if (terms !== undefined) return terms;
  throw new ProtocolError(
    'malformed_payment_required',
    'This asks for no x402 payment. Give a 402 with payment terms, or its terms.',
    { details: { reason: 'no payment terms' } },
  );
}

function isResponse(value: unknown): value is Response {
  if (!isRecord(value) || !('status' in value) || !isRecord(value['headers'])) return false;
  // Terms are parsed JSON, which may have these names but no methods.
  return typeof value['headers']['get'] === 'function';
}
