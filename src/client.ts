import type { ClientOptions } from './config/options.js';
import { parseOptions } from './config/parse-options.js';
import { ConfigError, isExactChangeError, type ExactChangeError, type Funds } from './errors.js';
import {
  createEvents,
  type EventName,
  type Listener,
  type Logger,
  type StepName,
} from './events.js';
import { dropBody } from './internal/drop-body.js';
import { loadOnce, lazyPart } from './internal/load-once.js';
import { isOwnRequest, markOwnRequest } from './internal/own-request.js';
import { captureCall } from './internal/request.js';
import type { Runtime } from './internal/runtime.js';
import type { Parts } from './payments/context.js';
import type { createEngine, Engine, SwapOptions } from './payments/engine.js';
import type { PayOptions, Payment } from './payments/pay-header.js';
import { sendUnpaid } from './payments/send-unpaid.js';
import type { CapUse } from './policy/cap-use.js';
import type { Plan } from './policy/plan.js';
import type { detectTerms } from './protocols/protocol.js';
import type { PaymentRequired } from './protocols/types.js';
import type { FreedReceipt, Receipt, ReceiptFilter, SwapResult } from './receipt.js';
import type { SwapQuote, SwapRequest, UiSwapRequest } from './swaps/types.js';
import type { TokenBalance, TransportOptions } from './transport.js';

const stepLog = /* @__PURE__ */ lazyPart(() => import('./payments/step-log.js'));

/** `RequestInit`, with the options that only `client.fetch` takes. */
export interface PayingRequestInit extends RequestInit {
  /**
   * Names the purchase: pass the same value with each retry, and a new value for a new purchase.
   * An empty value is refused if the call has to be paid. The client also reads it from an
   * `Idempotency-Key` header; an empty header counts as none.
   */
  readonly idempotencyKey?: string | undefined;
  /**
   * Allows the request to reach the seller twice: after a lost answer, the next equal call presents
   * the same payment again instead of reporting its state. GET and HEAD requests need no such
   * permission, nor do requests if the seller gave the payment an id.
   */
  readonly repeatable?: boolean | undefined;
}

/** A wallet that pays for calls. */
export interface Client {
  /** The paying wallet, base58. */
  readonly address: string;
  /**
   * Sends a request as `fetch` does, pays if the seller answers 402, and returns the answer to the
   * paid request. Any other answer comes back as from plain fetch.
   * The receipt is `receiptOf(response)`.
   *
   * Throws an `ExactChangeError` if it cannot pay the 402, or if the payment's outcome is not
   * known; `funds` says what happened to the money.
   *
   * @example
   * const response = await client.fetch('https://api.example.com/premium');
   */
  // A property, not a method, because callers pass it to other libraries by itself.
  readonly fetch: (input: string | URL | Request, init?: PayingRequestInit) => Promise<Response>;
  /**
   * Sends the call unpaid and returns the payment and the swap that it would take. Signs and
   * reserves nothing.
   */
  plan(input: string | URL | Request, init?: PayingRequestInit): Promise<Plan>;
  /**
   * Makes a payment for the given terms and returns the header to present, for callers that do
   * their own HTTP. The payment counts as spent until the chain shows that it can never land.
   */
  pay(paymentRequired: PaymentRequired | Response, options?: PayOptions): Promise<Payment>;
  /**
   * Swaps tokens without a payment, and waits for confirmation. Slippage, price impact and fee
   * bounds apply; payment caps apply only if the swap is `counted`. SOL goes in and comes out
   * native; if the wallet already holds wrapped SOL, the SOL that comes out stays wrapped too.
   */
  swap(request: SwapRequest | UiSwapRequest, options?: SwapOptions): Promise<SwapResult>;
  /** Returns a quote for a swap. */
  quote(request: SwapRequest | UiSwapRequest, options?: TransportOptions): Promise<SwapQuote>;
  /** Returns balances of some mints (addresses or pinned symbols), or of every held token. */
  balance(mint?: string | readonly string[], options?: TransportOptions): Promise<TokenBalance[]>;
  /**
   * Returns the payment terms of a 402 and leaves its body unread; undefined if the response asks
   * for no payment.
   */
  parse(response: Response): Promise<PaymentRequired | undefined>;
  /** Yields the receipts in the journal, oldest first. */
  receipts(filter?: ReceiptFilter): AsyncIterable<Receipt>;
  /**
   * Asks the chain about payments that an earlier run left open, and frees attempts that the run
   * only reserved. Returns the changes since the last call of `resume`, also those that a payment
   * made meanwhile: the receipt of each decided payment, and a record of each freed attempt. Throws
   * with `funds: 'uncertain'` if the journal or each node fails, or if the client is closed: what is
   * open may still land.
   */
  resume(): Promise<(Receipt | FreedReceipt)[]>;
  /** Returns how much of each cap is used. */
  spent(): Promise<CapUse[]>;
  /** Listens to all steps of payments and swaps. Returns a function that stops listening. */
  on(event: '*', listener: Listener<StepName>): () => void;
  /** Listens to one kind of event. Returns a function that stops listening. */
  on<N extends EventName>(event: N, listener: Listener<N>): () => void;
  /**
   * Does the first payment's preparation ahead of time: loads code, checks the network, reads
   * balances of pinned tokens.
   */
  warm(): Promise<void>;
  /**
   * Ends background work. Open payments stay in the journal; if it is durable, a later client can
   * `resume()` them.
   */
  close(): Promise<void>;
}

/** @internal The parts that a client is built from. */
export interface Composition {
  /** Payment headers in lower case: a call that carries such a header pays by itself. */
  readonly headers: readonly string[];
  /** Loads all other parts at first need: a client that never meets a 402 does not load them. */
  load(): Promise<ClientParts>;
}

/** @internal */
export interface ClientParts extends Parts {
  readonly createEngine: typeof createEngine;
  readonly detectTerms: typeof detectTerms;
  /** Returns the logger of payment steps if the `logger` option is absent. */
  readonly logger?: () => Logger | undefined;
}

/** @internal Builds a client from its parts. */
export function buildClient(
  options: ClientOptions,
  { headers, load }: Composition,
  runtime?: Runtime,
): Client {
  const config = parseOptions(options, runtime);
  const events = createEvents(config.runtime.now);
  let loaded: Engine | undefined;
  let closed = false;
  const loadParts = loadOnce(load);
  const start = loadOnce(async (): Promise<Engine> => {
    const parts = await loadParts();
    const logger = config.logger ?? parts.logger?.();
    const steps = logger === undefined ? undefined : await stepLog();
    loaded = await parts.createEngine(config, events, parts);
    // `close` has not waited for this engine.
    if (closed) loaded.close().catch(() => undefined);
    if (logger !== undefined) steps?.logSteps(events, logger, config.network);
    return loaded;
  });
  const engine = async (signal?: AbortSignal, funds: Funds = 'untouched'): Promise<Engine> => {
    const started = closed ? undefined : await start(signal);
    if (started !== undefined && !closed) return started;
    throw new ConfigError('client_closed', 'This client is closed. Create a new one.', {
      details: {},
      funds,
    });
  };
  const detect = async (response: Response, signal?: AbortSignal) => {
    if (response.status !== 402) return undefined;
    const { protocols, detectTerms } = await loadParts(signal);
    return detectTerms(protocols, response, { timeoutMs: config.timeouts.terms, signal });
  };
  return {
    address: config.signer.address,
    async fetch(input, init) {
      const call = isOwnRequest(init) ? undefined : captureCall(config.fetch, input, init, headers);
      if (call === undefined) return config.fetch(input, init);
      const { idempotencyKey, repeatable } = init ?? {};
      const callOptions = {
        // Treat an empty header as absent, because other libraries may set it. An empty option is
        // refused once a call costs: the init may be of other code that pays for nothing.
        idempotencyKey: idempotencyKey ?? (call.header('idempotency-key') || undefined),
        repeatable,
      };
      let unpaid: Response | undefined;
      try {
        // Await only a payment ahead: without one, the request leaves at once, as with plain fetch.
        const ahead = call.paysItself || closed ? undefined : loaded?.payAhead(call, callOptions);
        const paidAhead = ahead && (await ahead);
        if (paidAhead) return paidAhead;
        unpaid = await sendUnpaid(call, config);
        if (unpaid.status !== 402 || call.paysItself) return unpaid;
        const terms = await detect(unpaid, call.signal).catch(asUnreadable);
        if (terms === undefined) return unpaid;
        // An equal call may have paid before, and a closed client reads no journal.
        const paying = await engine(call.signal, 'uncertain');
        return await paying.purchase(call, unpaid, terms, callOptions);
      } catch (error) {
        // An error that shows another answer leaves the 402 unread, and so does an abort.
        if (!isExactChangeError(error) || error.response !== unpaid) dropBody(unpaid);
        throw error;
      } finally {
        call.forget();
      }
    },
    async plan(input, init) {
      const send: typeof fetch = (sent, sentInit) =>
        config.fetch(sent, markOwnRequest({ ...sentInit }));
      const call = captureCall(send, input, init, headers);
      if (call === undefined) {
        // Plain fetch says why it refuses them.
        await config.fetch(input, init);
        throw new TypeError('These arguments make no request.');
      }
      const unpaid = await sendUnpaid(call, config);
      call.forget();
      try {
        const terms = await detect(unpaid, call.signal);
        return await (await engine(call.signal)).plan(call, unpaid, terms);
      } finally {
        // Neither a plan nor an error of it shows the body.
        dropBody(unpaid);
      }
    },
    // These four copy options and requests, because the caller may change them while code loads.
    async pay(paymentRequired, payOptions) {
      const optionsCopy = { ...payOptions };
      return (await engine(optionsCopy.signal)).pay(paymentRequired, optionsCopy);
    },
    async swap(request, swapOptions) {
      const requestCopy = { ...request };
      const { noWorseThan } = swapOptions ?? {};
      const optionsCopy = { ...swapOptions, noWorseThan: noWorseThan && { ...noWorseThan } };
      return (await engine(optionsCopy.signal)).swap(requestCopy, optionsCopy);
    },
    async quote(request, quoteOptions) {
      const requestCopy = { ...request };
      const signal = quoteOptions?.signal;
      return (await engine(signal)).quote(requestCopy, signal);
    },
    async balance(mint, balanceOptions) {
      const mints = mint === undefined ? undefined : [mint].flat();
      const signal = balanceOptions?.signal;
      return (await engine(signal)).balance(mints, signal);
    },
    parse: (response) => detect(response),
    async *receipts(filter = {}) {
      yield* (await engine()).receipts(filter);
    },
    resume: async () => (await engine(undefined, 'uncertain')).resume(),
    spent: async () => (await engine()).spent(),
    on: events.on,
    warm: async () => (await engine()).warm(),
    async close() {
      closed = true;
      // Do not wait while code loads, which may never end: nothing has started yet.
      await loaded?.close();
    },
  };
}

/** Returns the error if it says why the terms cannot be read; throws any other error again. */
function asUnreadable(error: unknown): ExactChangeError {
  if (isExactChangeError(error)) return error;
  throw error;
}
