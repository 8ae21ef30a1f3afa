import type { Config } from '../config/options.js';
import { parseMint, parseSwapRequest } from '../config/swap-request.js';
import { amendError, ConfigError, isExactChangeError, ProtocolError, type Moved } from '../errors.js';
import type { Events } from '../events.js';
import type { Attempt } from '../journal/types.js';
import { capsSeen, type CapUse } from '../policy/caps.js';
import { pinnedMints } from '../network.js';
import type { Plan } from '../policy/plan.js';
import { fits, type FreedReceipt, type Receipt, type ReceiptFilter } from '../receipt.js';
import type { Call } from '../internal/request.js';
import { showable } from '../swaps/quote/check-quote.js';
import type { SwapQuote, SwapRequest } from '../swaps/types.js';
import type { TokenBalance } from '../transport.js';
import { isParsed, parsePaymentRequired } from '../protocols/x402/parse.js';
import { readPaymentRequired } from '../protocols/x402/read.js';
import type { PaymentRequired } from '../protocols/x402/types.js';
import { checkFit } from './plan/swap-quote.js';
import { checkBalances } from './plan/check-balances.js';
import { choose } from './plan/choose.js';
import { createContext, type Composition, type PaymentContext } from './context.js';
import { monitorPayment } from './reconcile/payment-monitor.js';
import { untilAborted } from '../internal/deadline.js';
import { ownerOf } from './owner.js';
import { makePlan, usesOf } from './plan/plan.js';
import { checkOrigin, newId, prepare, payForCall, type PurchaseOptions } from './pay.js';
import { resume, resumeOnce } from './reconcile/resume.js';
import { runSwap } from './execute/run-swap.js';
import { readHoldings } from './plan/holdings.js';

/** Options of `client.pay`. */
export interface PayOptions {
  /**
   * The URL that the payment is for, as you know it; needed where the terms are neither a response nor read by this library from one.
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

/** A swap that is confirmed. Amounts are decimal strings of base units, as the chain shows them. */
export interface SwapResult {
  readonly signature: string;
  readonly inputMint: string;
  readonly inAmount: string;
  readonly outputMint: string;
  readonly outAmount: string;
  readonly provider: string;
  /** Decimal string of lamports: network and priority fee. */
  readonly feeLamports: string;
}

/** The heavy half of a client, loaded when it is first needed. */
export interface Engine {
  purchase(call: Call, unpaid: Response, terms: PaymentRequired, options: PurchaseOptions): Promise<Response>;
  plan(call: Call, unpaid: Response, terms: PaymentRequired | undefined): Promise<Plan>;
  pay(paymentRequired: PaymentRequired | Response, options: PayOptions): Promise<Payment>;
  swap(request: SwapRequest, signal: AbortSignal | undefined): Promise<SwapResult>;
  quote(request: SwapRequest, signal: AbortSignal | undefined): Promise<SwapQuote>;
  balance(mint: string | readonly string[] | undefined, signal: AbortSignal | undefined): Promise<TokenBalance[]>;
  receipts(filter: ReceiptFilter): AsyncIterable<Receipt>;
  resume(): Promise<(Receipt | FreedReceipt)[]>;
  spent(): Promise<CapUse[]>;
  warm(): Promise<void>;
  close(): Promise<void>;
}

export function createEngine(config: Config, events: Events, compose: Composition): Engine {
  const context = createContext(config, events, compose);
  const wallet = config.signer.address;
  return {
    purchase: (call, unpaid, terms, options) => payForCall(context, call, unpaid, terms, options),
    plan: (call, unpaid, terms) => makePlan(context, call, unpaid, terms),
    pay: (paymentRequired, options) => pay(context, paymentRequired, options),
    async swap(request, signal) {
      const emit = events.emitter(newId(context));
      await untilAborted(context.ready(), signal);
      const swapped = await runSwap(context, { request: parseSwapRequest(request, config), emit, signal });
      return { ...swapped.record, feeLamports: swapped.feeLamports.toString() };
    },
    async quote(request, signal) {
      const asked = parseSwapRequest(request, config);
      const quote = await context.transport.quote(asked, { signal });
      checkFit(quote, asked);
      return showable(quote);
    },
    balance: async (mint, signal) => {
      const mints =
        mint === undefined ? undefined : (typeof mint === 'string' ? [mint] : mint).map((one) => parseMint('mint', one, config.network));
      const balances = await context.transport.balance({ wallet, ...(mints === undefined ? {} : { mint: mints }) }, { signal });
      checkBalances(balances, mints, config.network);
      return balances;
    },
    async *receipts(filter) {
      const { since } = filter;
      for await (const { receipt } of context.journal.attempts(ownerOf(context), since === undefined ? {} : { since })) {
        if (receipt !== undefined && fits(receipt, filter)) yield receipt;
      }
    },
    resume: () => resume(context),
    async spent() {
      const spends: Attempt[] = [];
      // Only a cap for each host or payee needs to know which there are.
      if (config.policy.caps.some(({ host, payTo }) => host === '*' || payTo === '*')) {
        for await (const attempt of context.journal.attempts(ownerOf(context))) spends.push(attempt);
      }
      return usesOf(context, capsSeen(config.policy, spends));
    },
    async warm() {
      await Promise.all([context.ready(), context.blockhashes.fresh(), readHoldings(context, pinnedMints(config.network), undefined)]);
    },
    close() {
      context.closing.abort(clientClosed());
      context.rpc.close();
      return Promise.resolve();
    },
  };
}

async function pay(context: PaymentContext, given: PaymentRequired | Response, { url, signal }: PayOptions): Promise<Payment> {
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
  try {
    await untilAborted(context.ready(), signal);
    await resumeOnce(context);
    const choice = await choose(context, terms, { host: new URL(at).host, signal, quote: false });
    // What the header is presented with is the caller's to know, so no other call adopts this payment.
    const place = { url: at, method: 'GET', fingerprint: id };
    const open = await prepare(context, { id, place, choice, signal, emit, moved, startedAt });
    // It is not presented here: what comes of it is the chain's to say.
    void monitorPayment(context, open, emit);
    await context.claims.drop(id).catch(() => undefined);
    return { header: open.attempt.payment.header, receipt: open.attempt.receipt };
  } catch (error) {
    if (!isExactChangeError(error)) throw error;
    const amended = amendError(error, { moved });
    emit('payment.failed', { code: amended.code, funds: amended.funds, message: amended.message });
    throw amended;
  }
}

/** Terms that we have read ourselves are taken as they are; any other object is read as a body whose origin only the caller can know. */
async function readTerms(
  context: PaymentContext,
  given: PaymentRequired | Response,
  url: string | undefined,
  signal: AbortSignal | undefined,
): Promise<PaymentRequired> {
  if (isParsed(given)) return given;
  const terms = isResponse(given)
    ? await readPaymentRequired(given, { timeoutMs: context.config.timeouts.terms, signal })
    : parsePaymentRequired({ body: given });
  if (terms !== undefined) return terms;
  throw new ProtocolError('malformed_payment_required', 'This asks for no x402 payment. Give a 402 with payment terms, or its terms.', {
    details: { reason: 'no payment terms' },
  });
}

function clientClosed(): ConfigError {
  return new ConfigError('client_closed', 'This client was closed meanwhile. Create a new one.', { details: {} });
}

function checkUrl(at: string): void {
  try {
    checkOrigin(at);
  } catch (error) {
    if (isExactChangeError(error)) throw error;
    throw new ConfigError('invalid_option', 'Option url is no address. Give the one that asked for payment.', {
      details: { option: 'url' },
    });
  }
}

function isResponse(given: PaymentRequired | Response): given is Response {
  if (!('headers' in given) || !('status' in given)) return false;
  // Parsed JSON may have any names, but no methods.
  return typeof given.headers === 'object' && 'get' in given.headers && typeof given.headers.get === 'function';
}
