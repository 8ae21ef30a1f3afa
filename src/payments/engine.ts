import type { Config } from '../config/options.js';
import { parseMint, parseSwapRequest } from '../config/swap-request.js';
import { ConfigError } from '../errors.js';
import type { Events, Logger } from '../events.js';
import { untilAborted } from '../internal/abort.js';
import { refuseUnknown } from '../internal/options.js';
import type { Call } from '../internal/request.js';
import type { Attempt } from '../journal/types.js';
import { capsSeen, type CapUse } from '../policy/caps.js';
import type { Plan } from '../policy/plan.js';
import type { PaymentProtocol } from '../protocols/protocol.js';
import type { PaymentRequired } from '../protocols/types.js';
import {
  fits,
  receiptFields,
  type FreedReceipt,
  type Receipt,
  type ReceiptFilter,
} from '../receipt.js';
import { showable } from '../swaps/quote/check-quote.js';
import type { SwapQuote, SwapRequest, UiSwapRequest } from '../swaps/types.js';
import { symbolOf } from '../token-text.js';
import type { TokenBalance, TransportOptions } from '../transport.js';
import { createContext, newId, type Composition } from './context.js';
import { countedSwap } from './execute/counted-swap.js';
import { runSwap } from './execute/run-swap.js';
import { ownerOf } from './owner.js';
import { payHeader, type Payment, type PayOptions } from './pay-header.js';
import { payAhead, payForCall, type CallOptions } from './pay.js';
import { checkBalances } from './plan/check-balances.js';
import { makePlan, usesOf } from './plan/plan.js';
import { checkFit } from './plan/swap-quote.js';
import { inBaseUnits } from './plan/ui-amount.js';
import { resume } from './reconcile/resume.js';
import { logSteps } from './step-log.js';
import { warm } from './warm.js';

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

/** Options of `client.swap`. */
export interface SwapOptions extends TransportOptions {
  /**
   * It counts against the caps as a swap for a payment does: what it takes beyond what it brings in
   * a pinned token (into any other its whole input), network fees and rent. For swaps that something
   * less trusted than the caller orders, such as a model. Default false.
   */
  readonly counted?: boolean | undefined;
}

/** The heavy half of a client, loaded when it is first needed. */
export interface Engine {
  purchase(
    call: Call,
    unpaid: Response,
    terms: PaymentRequired,
    options: CallOptions,
  ): Promise<Response>;
  /** Pays by terms that are known; undefined if the call has to be asked first. */
  payAhead(call: Call, options: CallOptions): Promise<Response | undefined>;
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

export function createEngine(
  config: Config,
  events: Events,
  compose: Composition,
  protocols: readonly PaymentProtocol[],
  logger: Logger | undefined,
): Engine {
  const context = createContext(config, events, compose, protocols);
  const wallet = config.signer.address;
  if (logger !== undefined) logSteps(events, logger, config.network);
  return {
    purchase: (call, unpaid, terms, options) => payForCall(context, call, unpaid, terms, options),
    payAhead: (call, options) => payAhead(context, call, options),
    plan: (call, unpaid, terms) => makePlan(context, call, unpaid, terms),
    pay: (paymentRequired, options) => payHeader(context, paymentRequired, options),
    async swap(asked, { counted = false, signal }) {
      const emit = events.emitter(newId(context));
      await untilAborted(context.ready(), signal);
      const request = parseSwapRequest(await inBaseUnits(context, asked, signal), config);
      const swapped = await (counted
        ? countedSwap(context, request, { emit, signal })
        : runSwap(context, { request, emit, signal }));
      return { ...swapped.record, feeLamports: swapped.feeLamports.toString() };
    },
    async quote(request, signal) {
      const asked = parseSwapRequest(await inBaseUnits(context, request, signal), config);
      const quote = await context.transport.quote(asked, { signal });
      checkFit(quote, asked);
      return showable(quote);
    },
    balance: async (mint, signal) => {
      const mints =
        mint === undefined
          ? undefined
          : (typeof mint === 'string' ? [mint] : mint).map((one) =>
              parseMint('mint', one, config.network),
            );
      const balances = await context.transport.balance(
        { wallet, ...(mints === undefined ? {} : { mint: mints }) },
        { signal },
      );
      checkBalances(balances, mints, config.network);
      return balances.map((one) => ({ ...one, ...symbolOf(config.network, one.mint) }));
    },
    async *receipts(filter) {
      refuseUnknown(filter, receiptFields, 'filter');
      const { since } = filter;
      for await (const { receipt } of context.journal.attempts(
        ownerOf(context),
        since === undefined ? {} : { since },
      )) {
        if (receipt !== undefined && fits(receipt, filter)) yield receipt;
      }
    },
    resume: () => resume(context),
    async spent() {
      const spends: Attempt[] = [];
      // Only a cap for each host or payee needs to know which there are.
      if (config.policy.caps.some(({ host, payTo }) => host === '*' || payTo === '*')) {
        for await (const attempt of context.journal.attempts(ownerOf(context)))
          spends.push(attempt);
      }
      return usesOf(context, capsSeen(config.policy, spends));
    },
    warm: () => warm(context),
    close() {
      context.closing.abort(clientClosed());
      context.rpc.close();
      return Promise.resolve();
    },
  };
}

function clientClosed(): ConfigError {
  return new ConfigError('client_closed', 'This client was closed meanwhile. Create a new one.', {
    details: {},
  });
}
