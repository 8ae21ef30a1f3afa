import type { ClientConfig, ClientOptions } from './config/options.js';
import { parseOptions } from './config/parse-options.js';
import { ConfigError, isExactChangeError, type ExactChangeError } from './errors.js';
import {
  createEvents,
  type EventName,
  type Listener,
  type Logger,
  type StepName,
} from './events.js';
import { loadOnce, part } from './internal/load-once.js';
import { isOwn } from './internal/own-request.js';
import { captureCall } from './internal/request.js';
import type { Runtime } from './internal/runtime.js';
import type { Parts } from './payments/context.js';
import type { createEngine, Engine, SwapOptions, SwapResult } from './payments/engine.js';
import type { PayOptions, Payment } from './payments/pay-header.js';
import { sendUnpaid } from './payments/send-unpaid.js';
import type { CapUse } from './policy/cap-use.js';
import type { Plan } from './policy/plan.js';
import { detectTerms } from './protocols/protocol.js';
import type { PaymentRequired } from './protocols/types.js';
import type { FreedReceipt, Receipt, ReceiptFilter } from './receipt.js';
import type { SwapQuote, SwapRequest, UiSwapRequest } from './swaps/types.js';
import type { TokenBalance, TransportOptions } from './transport.js';

const stepLog = /* @__PURE__ */ part(() => import('./payments/step-log.js'));

/** What `client.fetch` takes beyond `RequestInit`. */
export interface PayingRequestInit extends RequestInit {
  /**
   * The same value for every retry of the same purchase, a new one for a new purchase. Also read
   * from an `Idempotency-Key` header.
   */
  readonly idempotencyKey?: string;
  /**
   * On your word the request may reach the seller twice: after a lost answer the next equal call
   * presents the same payment again instead of reporting its state. GET and HEAD always may, and so
   * does any request whose seller gave the payment an id.
   */
  readonly repeatable?: boolean;
}

/** A wallet that pays for calls. */
export interface Client {
  /** The paying wallet, base58. */
  readonly address: string;
  /**
   * `fetch` that pays a 402 on the way and returns the answer to the paid request; anything else
   * comes back as from plain fetch.
   * The receipt is `receiptOf(response)`.
   *
   * Throws an `ExactChangeError` if a 402 could not be paid, or its outcome is not known;
   * `funds` says what happened to the money.
   *
   * @example
   * const response = await client.fetch('https://api.example.com/premium');
   */
  // A property, not a method: it is handed on alone, as fetch is.
  readonly fetch: (input: RequestInfo | URL, init?: PayingRequestInit) => Promise<Response>;
  /**
   * Sends the call unpaid and says what paying for it would take. Nothing is signed or reserved.
   */
  plan(input: RequestInfo | URL, init?: PayingRequestInit): Promise<Plan>;
  /**
   * Makes the payment for terms, for callers that do their own HTTP: the header to present. It
   * counts as spent until the chain says that it never landed.
   */
  pay(paymentRequired: PaymentRequired | Response, options?: PayOptions): Promise<Payment>;
  /**
   * Swaps without any payment, and waits for confirmation. Slippage, price impact and fee bounds
   * apply; payment caps do not, unless it is `counted`. SOL goes in and comes out native; if the wallet holds wrapped
   * SOL already, what comes out stays wrapped beside it.
   */
  swap(request: SwapRequest | UiSwapRequest, options?: SwapOptions): Promise<SwapResult>;
  /** Asks for a price. */
  quote(request: SwapRequest | UiSwapRequest, options?: TransportOptions): Promise<SwapQuote>;
  /** Balances of some mints (addresses or pinned symbols), or of all that the wallet holds. */
  balance(mint?: string | readonly string[], options?: TransportOptions): Promise<TokenBalance[]>;
  /** The payment terms of a 402, its body left unread; undefined if it asks for no payment. */
  parse(response: Response): Promise<PaymentRequired | undefined>;
  /** Receipts in the journal, oldest first. */
  receipts(filter?: ReceiptFilter): AsyncIterable<Receipt>;
  /**
   * Lets the chain decide what an earlier run left open, and frees what that only reserved. Returns
   * what changed since it was last called, also if a payment took it up first: the receipt of each
   * payment that is decided, and a record of each attempt that was freed.
   */
  resume(): Promise<(Receipt | FreedReceipt)[]>;
  /** What is spent of each cap. */
  spent(): Promise<CapUse[]>;
  /** Listens to all steps of payments and swaps. Returns the way to stop. */
  on(event: '*', listener: Listener<StepName>): () => void;
  /** Listens to one kind of event. Returns the way to stop. */
  on<N extends EventName>(event: N, listener: Listener<N>): () => void;
  /**
   * Does ahead what the first payment would do: loads code, checks the network, reads balances of
   * pinned tokens.
   */
  warm(): Promise<void>;
  /**
   * Ends background work. Open payments stay in the journal; a durable one lets a later client
   * `resume()` them.
   */
  close(): Promise<void>;
}

/** @internal What a client is made of. */
export interface Composition {
  /** In lower case: a call with one of them pays by itself. */
  readonly headers: readonly string[];
  /** All else, which a client that never meets a 402 never loads. */
  load(): Promise<ClientParts>;
}

/** @internal */
export interface ClientParts extends Parts {
  readonly createEngine: typeof createEngine;
  /** What steps are told to if no option says. */
  readonly logger?: () => Logger | undefined;
}

/** @internal Makes a client. */
export function buildClient(
  options: ClientOptions,
  { headers, load }: Composition,
  runtime?: Runtime,
): Client {
  const config = parseOptions(options, runtime);
  const events = createEvents(config.runtime.now);
  let loading: Promise<Engine> | undefined;
  let loaded: Engine | undefined;
  let closed = false;
  const loadParts = loadOnce(load);
  const start = loadOnce(async (): Promise<Engine> => {
    const parts = await loadParts();
    const logger = config.logger ?? parts.logger?.();
    const steps = logger === undefined ? undefined : await stepLog();
    loaded = await parts.createEngine(config, events, parts);
    if (logger !== undefined) steps?.logSteps(events, logger, config.network);
    return loaded;
  });
  const checkOpen = (): void => {
    if (closed)
      throw new ConfigError('client_closed', 'This client is closed. Create a new one.', {
        details: {},
      });
  };
  const engine = async (): Promise<Engine> => {
    checkOpen();
    const started = await (loading = start());
    checkOpen();
    return started;
  };
  const detect = async (response: Response, signal?: AbortSignal) =>
    response.status === 402
      ? detectTerms((await loadParts()).protocols, response, {
          timeoutMs: config.timeouts.terms,
          signal,
        })
      : undefined;
  return {
    address: config.signer.address,
    async fetch(input, init) {
      const call = isOwn(init) ? undefined : captureCall(config.fetch, input, init, headers);
      if (call === undefined) return config.fetch(input, init);
      // An empty key would be one key for every call.
      const idempotencyKey = init?.idempotencyKey || call.header('idempotency-key') || undefined;
      const callOptions = { idempotencyKey, repeatable: init?.repeatable };
      try {
        // Without a wait in between: the call goes out as plain fetch would send it.
        const ahead = call.paysItself || closed ? undefined : loaded?.payAhead(call, callOptions);
        const paidAhead = ahead === undefined ? undefined : await ahead;
        if (paidAhead !== undefined) return paidAhead;
        const unpaid = await sendUnpaid(call, config);
        if (unpaid.status !== 402 || call.paysItself) return unpaid;
        const terms = await detect(unpaid, call.signal).catch(asUnreadable);
        if (terms === undefined) return unpaid;
        const paid = await (await engine()).purchase(call, unpaid, terms, callOptions);
        // The paid request went straight to where the call had been redirected, so the answer to it
        // cannot know.
        if (unpaid.redirected) Object.defineProperty(paid, 'redirected', { value: true });
        return paid;
      } finally {
        call.forget();
      }
    },
    async plan(input, init) {
      const call = captureCall(config.fetch, input, init, headers);
      if (call === undefined) throw await refusedByFetch(config, input, init);
      const unpaid = await sendUnpaid(call, config);
      call.forget();
      const terms = await detect(unpaid, call.signal);
      return (await engine()).plan(call, unpaid, terms);
    },
    pay: async (paymentRequired, payOptions) =>
      (await engine()).pay(paymentRequired, payOptions ?? {}),
    async swap(request, swapOptions) {
      // As it was asked for, whatever its caller reuses while code is loaded.
      const [asked, options] = [{ ...request }, { ...swapOptions }];
      return (await engine()).swap(asked, options);
    },
    quote: async (request, quoteOptions) => (await engine()).quote(request, quoteOptions?.signal),
    balance: async (mint, balanceOptions) => (await engine()).balance(mint, balanceOptions?.signal),
    parse: (response) => detect(response),
    async *receipts(filter = {}) {
      yield* (await engine()).receipts(filter);
    },
    resume: async () => (await engine()).resume(),
    spent: async () => (await engine()).spent(),
    on: events.on,
    warm: async () => (await engine()).warm(),
    async close() {
      closed = true;
      // Code may load for ever, and what is not loaded has begun nothing.
      if (loaded === undefined) loading?.then((engine) => engine.close()).catch(() => undefined);
      else await loaded.close();
    },
  };
}

/** Why terms cannot be read. */
function asUnreadable(error: unknown): ExactChangeError {
  if (isExactChangeError(error)) return error;
  throw error;
}

/** The error that plain fetch gives for arguments it does not take. */
async function refusedByFetch(
  config: ClientConfig,
  input: RequestInfo | URL,
  init: RequestInit | undefined,
): Promise<unknown> {
  return config.fetch(input, init).then(
    () => new TypeError('These arguments make no request.'),
    (error: unknown) => error,
  );
}
