import type { Config } from '../config/options.js';
import type { ExactChangeError } from '../errors.js';
import type { Events } from '../events.js';
import type { Call } from '../internal/request.js';
import type { CapUse } from '../policy/cap-use.js';
import type { Plan } from '../policy/plan.js';
import type { PaymentRequired } from '../protocols/types.js';
import type { FreedReceipt, Receipt, ReceiptFilter, SwapResult } from '../receipt.js';
import type { SwapQuote, SwapRequest, UiSwapRequest } from '../swaps/types.js';
import type { TokenBalance, TransportOptions } from '../transport.js';
import { clientClosed, createContext, type Parts } from './context.js';
import { claimsReleased } from './execute/release-claim.js';
import type { Payment, PayOptions } from './pay-header.js';
import { payAhead, payForCall, type CallOptions } from './pay.js';
import { lazyPart } from '../internal/load-once.js';
import { reasons, recovery, swapEngine } from './on-demand.js';

const payingHeader = /* @__PURE__ */ lazyPart(() => import('./pay-header.js'));

/** Options of `client.swap`. */
export interface SwapOptions extends TransportOptions {
  /**
   * Counts the swap against the caps, as a swap for a payment counts. Into a pinned token, only its
   * loss counts: input minus output. Into any other token, the whole input counts. Network fees and
   * rent count too. Set it if something less trusted than the caller orders the swap, such as a
   * model. Default false.
   */
  readonly counted?: boolean | undefined;
  /**
   * An approved quote, or its bounds in base units. No more leaves and no less arrives, even if the
   * market has moved since. Throws `approval_refused` if the price has moved past these bounds.
   */
  readonly noWorseThan?: Pick<SwapQuote, 'maxInAmount' | 'minOutAmount'> | undefined;
}

/**
 * The heavy half of a client, loaded on first use. Only steps that need swap code load
 * `swap-engine.ts`: a payment in a token that the wallet holds does not.
 */
export interface Engine {
  /**
   * @param terms - Terms of the 402, or the error of reading them. The error is thrown only if
   *   there is no earlier payment for the same call.
   */
  purchase(
    call: Call,
    unpaid: Response,
    terms: PaymentRequired | ExactChangeError,
    options: CallOptions,
  ): Promise<Response>;
  /** Pays by terms of an earlier call; undefined if the seller must be asked first. */
  payAhead(call: Call, options: CallOptions): Promise<Response | undefined> | undefined;
  plan(call: Call, unpaid: Response, terms: PaymentRequired | undefined): Promise<Plan>;
  pay(paymentRequired: PaymentRequired | Response, options: PayOptions): Promise<Payment>;
  swap(request: SwapRequest | UiSwapRequest, options: SwapOptions): Promise<SwapResult>;
  quote(request: SwapRequest | UiSwapRequest, signal: AbortSignal | undefined): Promise<SwapQuote>;
  balance(
    mints: readonly string[] | undefined,
    signal: AbortSignal | undefined,
  ): Promise<TokenBalance[]>;
  receipts(filter: ReceiptFilter): AsyncIterable<Receipt>;
  resume(): Promise<(Receipt | FreedReceipt)[]>;
  spent(): Promise<CapUse[]>;
  warm(): Promise<void>;
  close(): Promise<void>;
}

export async function createEngine(config: Config, events: Events, parts: Parts): Promise<Engine> {
  const context = await createContext(config, events, parts);
  const thenTopUp = <T>(result: T): T => {
    // Ignore a failure to load the code, because the next call loads it again.
    if (config.policy.topUp)
      swapEngine().then(
        ({ keepToppedUp }) => keepToppedUp(context),
        () => undefined,
      );
    return result;
  };
  return {
    purchase: (call, unpaid, terms, options) =>
      payForCall(context, call, unpaid, terms, options).then(thenTopUp),
    payAhead: (call, options) =>
      payAhead(context, call, options)?.then((paid) => paid && thenTopUp(paid)),
    plan: async (call, unpaid, terms) =>
      (await swapEngine(call.signal)).makePlan(context, call, unpaid, terms),
    pay: async (paymentRequired, options) =>
      (await payingHeader(options.signal))
        .payHeader(context, paymentRequired, options)
        .then(thenTopUp),
    swap: async (request, options) =>
      (await swapEngine(options.signal)).swap(context, request, options),
    quote: async (request, signal) => (await swapEngine(signal)).quote(context, request, signal),
    balance: async (mints, signal) => (await swapEngine(signal)).balance(context, mints, signal),
    async *receipts(filter) {
      yield* (await swapEngine()).listReceipts(context, filter);
    },
    resume: async () => (await recovery(undefined, 'uncertain')).resume(context),
    spent: async () => (await swapEngine()).spent(context),
    warm: async () => (await reasons()).warm(context).then(thenTopUp),
    async close() {
      const reason = clientClosed();
      context.closing.abort(reason);
      context.rpc.close(reason);
      await context.memory.topUp.running;
      // Wait for the last writes of ended calls, so that the caller can close its journal next.
      await claimsReleased(context, undefined);
    },
  };
}
