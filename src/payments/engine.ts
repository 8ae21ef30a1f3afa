import type { Config } from '../config/options.js';
import { ConfigError, type ExactChangeError } from '../errors.js';
import type { Events } from '../events.js';
import type { Call } from '../internal/request.js';
import type { CapUse } from '../policy/cap-use.js';
import type { Plan } from '../policy/plan.js';
import type { PaymentRequired } from '../protocols/types.js';
import type { FreedReceipt, Receipt, ReceiptFilter, RelayFee } from '../receipt.js';
import type { SwapQuote, SwapRequest, UiSwapRequest } from '../swaps/types.js';
import type { TokenBalance, TransportOptions } from '../transport.js';
import { createContext, type Parts } from './context.js';
import { claimsReleased } from './execute/release-claim.js';
import type { Payment, PayOptions } from './pay-header.js';
import { payAhead, payForCall, type CallOptions } from './pay.js';
import { part } from '../internal/load-once.js';
import { reasons, recovery, swapEngine } from './on-demand.js';

const payingHeader = /* @__PURE__ */ part(() => import('./pay-header.js'));

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
  /** What a relayer took, if it paid the fees; it is in the amounts above. */
  readonly relayFee?: RelayFee;
}

/** Options of `client.swap`. */
export interface SwapOptions extends TransportOptions {
  /**
   * It counts against the caps as a swap for a payment does: what it takes beyond what it brings in
   * a pinned token (into any other its whole input), network fees and rent. For swaps that something
   * less trusted than the caller orders, such as a model. Default false.
   */
  readonly counted?: boolean | undefined;
  /**
   * A quote that was approved, or the bounds of one in base units: no more leaves and no less
   * arrives, whatever the market did since. Throws `approval_refused` if the price has moved past
   * it.
   */
  readonly noWorseThan?: Pick<SwapQuote, 'maxInAmount' | 'minOutAmount'> | undefined;
}

/**
 * The heavy half of a client, loaded when it is first needed. What a payment in tokens at hand does
 * without is loaded by a step that needs it: `swap-engine.ts`.
 */
export interface Engine {
  /** @param terms - Or why they cannot be read: an earlier payment for the call comes first. */
  purchase(
    call: Call,
    unpaid: Response,
    terms: PaymentRequired | ExactChangeError,
    options: CallOptions,
  ): Promise<Response>;
  /** Pays by terms that are known; undefined if the call has to be asked first. */
  payAhead(call: Call, options: CallOptions): Promise<Response | undefined> | undefined;
  plan(call: Call, unpaid: Response, terms: PaymentRequired | undefined): Promise<Plan>;
  pay(paymentRequired: PaymentRequired | Response, options: PayOptions): Promise<Payment>;
  swap(request: SwapRequest | UiSwapRequest, options: SwapOptions): Promise<SwapResult>;
  quote(request: SwapRequest | UiSwapRequest, signal: AbortSignal | undefined): Promise<SwapQuote>;
  balance(
    mint: string | readonly string[] | undefined,
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
    // What cannot be loaded now is loaded by the next call.
    if (config.policy.topUp !== undefined)
      swapEngine().then(
        ({ keepToppedUp }) => keepToppedUp(context),
        () => undefined,
      );
    return result;
  };
  return {
    purchase: (call, unpaid, terms, options) =>
      payForCall(context, call, unpaid, terms, options).then(thenTopUp),
    payAhead: (call, options) => payAhead(context, call, options)?.then(thenTopUp),
    plan: async (call, unpaid, terms) =>
      (await swapEngine()).makePlan(context, call, unpaid, terms),
    pay: async (paymentRequired, options) =>
      (await payingHeader()).payHeader(context, paymentRequired, options).then(thenTopUp),
    swap: async (request, options) => (await swapEngine()).swap(context, request, options),
    quote: async (request, signal) => (await swapEngine()).quote(context, request, signal),
    balance: async (mint, signal) => (await swapEngine()).balance(context, mint, signal),
    async *receipts(filter) {
      yield* (await swapEngine()).listReceipts(context, filter);
    },
    resume: async () => (await recovery()).resume(context),
    spent: async () => (await swapEngine()).spent(context),
    warm: async () => (await reasons()).warm(context).then(thenTopUp),
    async close() {
      const reason = clientClosed();
      context.closing.abort(reason);
      context.rpc.close(reason);
      await context.memory.topUp.running;
      // What calls that have ended are still writing, so that the journal can be closed next.
      await claimsReleased(context, undefined);
    },
  };
}

function clientClosed(): ConfigError {
  return new ConfigError('client_closed', 'This client was closed meanwhile. Create a new one.', {
    details: {},
  });
}
