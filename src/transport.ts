import type { OfferRefusal } from './errors.js';
import type { X402Version } from './protocols/types.js';
import type { Address } from './solana/types.js';
import type { SwapBuild } from './swaps/provider.js';
import type { SwapQuote, SwapRequest, SwapTransaction } from './swaps/types.js';

/** A balance, as text and as base units. */
export interface TokenBalance {
  readonly mint: Address;
  /** Decimal string of base units. */
  readonly amount: string;
  readonly decimals: number;
  readonly uiAmount: string;
  /** Of a pinned mint alone, as `client.balance()` adds it. */
  readonly symbol?: string;
  readonly tokenProgram: Address;
  /** The associated token account; the wallet itself for native SOL. */
  readonly tokenAccount: Address;
  readonly slot: number;
}

/** A 402 as it came: what a service needs to read it. */
export interface PaymentResponseParts {
  readonly url?: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** One entry of `accepts`, normalised. `payable` is false if `refusal` says why. */
export interface ParsedOffer {
  readonly index: number;
  readonly x402Version: X402Version;
  readonly payable: boolean;
  readonly network?: string;
  readonly mint?: Address;
  /** Decimal string of base units. */
  readonly amount?: string;
  readonly payTo?: Address;
  readonly feePayer?: Address;
  readonly refusal?: OfferRefusal;
}

export interface ParsedPayment {
  readonly x402Version: X402Version;
  readonly offers: readonly ParsedOffer[];
}

export interface AutoPayRequest {
  readonly paymentRequired: PaymentResponseParts;
  readonly wallet: Address;
  /** Default false. */
  readonly autoSwap?: boolean;
  /** Base units that the payment may cost, by mint. */
  readonly limits?: Readonly<Record<Address, string>>;
  /**
   * Mints or pinned symbols that a swap may be made from, in order; default: any held token. Of
   * those that the service swaps from, if it says.
   */
  readonly swapFrom?: readonly string[];
  /** Basis points that a swap may slip; default, and at most: those of the service's policy. */
  readonly slippageBps?: number;
  /**
   * Base units of the offer's token that a swap has to bring, also if the wallet holds enough:
   * another payment may have been promised it. Never less than what is missing. Default: that, or
   * `policy.minSwap` of the service. Ignored without `autoSwap`, and once a step is signed.
   */
  readonly swapAmount?: string;
  /** Base64 of the swap of the step before, signed: it is sent and confirmed. */
  readonly signedSwap?: string;
  /**
   * Base64 of the payment of the step before, signed: its header comes back, and again whenever the
   * same bytes come, with what became of it.
   */
  readonly signedPayment?: string;
  /**
   * 1 to 255 visible ASCII characters: one purchase of the wallet. While a payment under it may
   * still land, or has, nothing else is offered to be signed, and no other payment is taken.
   * Without a journal at the service, it is ignored.
   */
  readonly idempotencyKey?: string;
}

/** Where a payment stands, and what to sign or send next. */
export interface PaymentResult {
  /**
   * The last three, if the service keeps a journal: what became of a payment that it was handed
   * before.
   */
  readonly state:
    | 'swap_required'
    | 'swap_submitted'
    | 'ready_to_sign'
    | 'ready_to_present'
    | 'insufficient_funds'
    | 'submitted'
    | 'settled'
    | 'failed';
  readonly offer: ParsedOffer;
  /**
   * The attempt's, if it is on record: the same in each answer about it, and in what webhooks
   * tell of it.
   */
  readonly id?: string;
  /** `swap_required`: sign its transaction and send it back as `signedSwap`. */
  readonly swap?: SwapTransaction;
  /**
   * `swap_submitted`: the swap's signature, still unconfirmed: ask again. `settled`: the payment's
   * transaction, as the service's own node shows it.
   */
  readonly signature?: string;
  /** `ready_to_sign`: base64 of the payment; sign it and send it back as `signedPayment`. */
  readonly payment?: { readonly transaction: string; readonly lastValidBlockHeight: string };
  /**
   * `ready_to_present`: repeat the request with this header. `submitted`, to the caller that sent
   * `signedPayment`: the same bytes may be presented again.
   */
  readonly header?: { readonly name: string; readonly value: string };
  /** Of a payment on record: the wallet's own signature on it, base58. */
  readonly payerSignature?: string;
  /**
   * Of a payment on record: once this block height is final, it can land no more. Decimal string.
   */
  readonly lastValidBlockHeight?: string;
  /** `insufficient_funds`: decimal strings of base units. */
  readonly funds?: {
    readonly mint: Address;
    readonly required: string;
    readonly available: string;
  };
}

export interface TransportOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * One method for each operation of the REST interface, in this process or at a service. What it
 * returns is a hint: the client parses, judges, signs, sends and confirms by itself.
 */
export interface Transport {
  /**
   * Each call is a round trip to a service: a client that has to swap asks for one plan (`autoPay`)
   * before it asks for a quote and a build.
   */
  readonly distant?: true;
  quote(request: SwapRequest, options?: TransportOptions): Promise<SwapQuote>;
  buildSwap(
    request: { readonly wallet: Address; readonly quote: SwapQuote },
    options?: TransportOptions,
  ): Promise<SwapTransaction>;
  /**
   * The one swap instruction of a quote, if the transport has it at hand: a client composes its
   * own transaction anyway, so it need not have one built only to take it apart.
   */
  swapInstruction?(
    request: { readonly wallet: Address; readonly quote: SwapQuote },
    options?: TransportOptions,
  ): Promise<SwapBuild>;
  /** Native SOL is asked for as the wrapped SOL mint. Without `mint`: all that the wallet holds. */
  balance(
    request: { readonly wallet: Address; readonly mint?: string | readonly string[] },
    options?: TransportOptions,
  ): Promise<TokenBalance[]>;
  parsePayment(parts: PaymentResponseParts, options?: TransportOptions): Promise<ParsedPayment>;
  /**
   * Plans a payment step by step, without a key: each answer says what to sign and send next.
   * Stateless, unless it was given a journal.
   */
  autoPay(request: AutoPayRequest, options?: TransportOptions): Promise<PaymentResult>;
}

/** @internal A transport that its first call loads. */
export function transportOf(load: () => Promise<Transport>): Transport {
  return {
    quote: async (...order) => (await load()).quote(...order),
    buildSwap: async (...order) => (await load()).buildSwap(...order),
    balance: async (...question) => (await load()).balance(...question),
    parsePayment: async (...parts) => (await load()).parsePayment(...parts),
    autoPay: async (...step) => (await load()).autoPay(...step),
  };
}
