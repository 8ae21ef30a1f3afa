import { ConfigError, isExactChangeError, ProtocolError, type Moved } from '../errors.js';
import { amendError } from '../errors/amend.js';
import { untilAborted } from '../internal/abort.js';
import { detectTerms, type PaymentProtocol } from '../protocols/protocol.js';
import { announce } from '../journal/registry.js';
import type { PaymentRequired } from '../protocols/types.js';
import type { Receipt } from '../receipt.js';
import { newId, type PaymentContext } from './context.js';
import { bodyClaim } from './execute/release-claim.js';
import { preparePayment } from './pay.js';
import { checkOrigin } from './plan/request-problem.js';
import { choose } from './plan/choose.js';
import { monitorPayment } from './reconcile/payment-monitor.js';
import { resumeOnce } from './reconcile/resume-once.js';

/** Options of `client.pay`. */
export interface PayOptions {
  /**
   * The URL that the payment is for, as you know it; needed if the terms are neither a response
   * nor read by this library from one.
   * Caps for hosts count by it.
   */
  readonly url?: string;
  readonly signal?: AbortSignal;
}

/** A payment for callers that do their own HTTP. */
export interface Payment {
  /** Present it as a request header, once, to the URL that asked, and never across a redirect. */
  readonly header: { readonly name: string; readonly value: string };
  /** As it stands when the payment is made; `client.receipts()` has what became of it. */
  readonly receipt: Receipt;
}

/** Signs a payment for a caller that presents it by itself. */
export async function payHeader(
  context: PaymentContext,
  given: PaymentRequired | Response,
  { url, signal }: PayOptions,
): Promise<Payment> {
  const startedAt = context.config.runtime.now();
  const terms = await readTerms(context, given, url, signal);
  const at = url ?? terms.url;
  if (at === undefined)
    throw new ConfigError(
      'invalid_option',
      'Option url is missing: the terms do not say where they come from. Give the address that asked for payment.',
      {
        details: { option: 'url' },
      },
    );
  checkUrl(at);
  const id = newId(context);
  const emit = context.events.emitter(id);
  const moved: Moved[] = [];
  const onCounted = announce(context.wallet);
  try {
    await untilAborted(Promise.all([context.nextTurn(), context.ready()]), signal);
    await resumeOnce(context);
    const choice = await choose(context, terms, { host: new URL(at).host, signal, quote: false });
    // What the header is presented with is the caller's to know, so no other call adopts this
    // payment.
    const place = { url: at, method: 'GET', fingerprint: id };
    const open = await preparePayment(context, choice, {
      id,
      place,
      signal,
      emit,
      moved,
      startedAt,
      onCounted,
    });
    // It is not presented here: what comes of it is the chain's to say.
    void monitorPayment(context, open, emit);
    await context.claims.drop([id, bodyClaim(id)]).catch(() => undefined);
    return { header: open.attempt.payment.header, receipt: open.attempt.receipt };
  } catch (error) {
    if (!isExactChangeError(error)) throw error;
    const amended = amendError(error, { moved });
    emit('payment.failed', { code: amended.code, funds: amended.funds, message: amended.message });
    throw amended;
  } finally {
    onCounted();
  }
}

/**
 * Terms that we have read ourselves are taken as they are; any other object is read as a body whose
 * origin only the caller can know.
 */
async function readTerms(
  context: PaymentContext,
  given: PaymentRequired | Response,
  url: string | undefined,
  signal: AbortSignal | undefined,
): Promise<PaymentRequired> {
  const { config, protocols } = context;
  const terms = isResponse(given)
    ? await detectTerms(protocols, given, { timeoutMs: config.timeouts.terms, signal })
    : protocols.some((one) => one.owns(given))
      ? given
      : await parsedBy(protocols, given);
  if (terms !== undefined) return terms;
  throw new ProtocolError(
    'malformed_payment_required',
    'This asks for no x402 payment. Give a 402 with payment terms, or its terms.',
    {
      details: { reason: 'no payment terms' },
    },
  );
}

async function parsedBy(
  protocols: readonly PaymentProtocol[],
  body: object,
): Promise<PaymentRequired | undefined> {
  for (const protocol of protocols) {
    const terms = await protocol.parse(body);
    if (terms !== undefined) return terms;
  }
  return undefined;
}

function checkUrl(at: string): void {
  try {
    checkOrigin(at);
  } catch (error) {
    if (isExactChangeError(error)) throw error;
    throw new ConfigError(
      'invalid_option',
      'Option url is no address. Give the one that asked for payment.',
      {
        details: { option: 'url' },
      },
    );
  }
}

function isResponse(given: PaymentRequired | Response): given is Response {
  if (!('headers' in given) || !('status' in given)) return false;
  // Parsed JSON may have any names, but no methods.
  return (
    typeof given.headers === 'object' &&
    'get' in given.headers &&
    typeof given.headers.get === 'function'
  );
}
