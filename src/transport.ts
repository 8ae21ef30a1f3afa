import type { OfferRefusal } from './errors.js';
import { requireObject } from './internal/options.js';
import type { X402Version } from './protocols/types.js';
import type { Address } from './solana/types.js';
import type { SwapBuild } from './swaps/provider.js';
import type { SwapQuote, SwapRequest, SwapTransaction } from './swaps/types.js';

/** Balance of a mint, in base units and as text. */
export interface TokenBalance {
  readonly mint: Address;
  /** Decimal string of base units. */
  readonly amount: string;
  readonly decimals: number;
  readonly uiAmount: string;
  /** Present only if the mint is pinned; `client.balance()` adds it. */
  readonly symbol?: string;
  readonly tokenProgram: Address;
  /** The associated token account; the wallet itself for native SOL. */
  readonly tokenAccount: Address;
  readonly slot: number;
}

/** The parts of a 402 response that a service needs to read its terms. */
export interface PaymentResponseParts {
  readonly url?: string | undefined;
  readonly status?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
}

/** One entry of `accepts`, normalised. If `payable` is false, `refusal` says why. */
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
  readonly autoSwap?: boolean | undefined;
  /** Base units that the payment may cost, by mint. */
  readonly limits?: Readonly<Record<Address, string>> | undefined;
  /**
   * Mints or pinned symbols that a swap may sell, in order; default: any held token. If the service
   * limits the mints to sell, only mints that it allows count.
   */
  readonly swapFrom?: readonly string[] | undefined;
  /** Basis points that a swap may slip. The service's policy sets the default and the maximum. */
  readonly slippageBps?: number | undefined;
  /**
   * Base units of the offer's token that a swap has to bring, also if the wallet holds enough: the
   * balance may be promised to another payment. A swap never brings less than the missing amount.
   * Default: the missing amount, or `policy.minSwap` of the service. Ignored without `autoSwap`,
   * and once a step is signed.
   */
  readonly swapAmount?: string | undefined;
  /** Base64 of the signed swap of the step before: the service sends and confirms it. */
  readonly signedSwap?: string | undefined;
  /**
   * Base64 of the signed payment of the step before: the answer holds its header. If the same bytes
   * come again, the answer holds the header again and says what became of the payment.
   */
  readonly signedPayment?: string | undefined;
  /**
   * 1 to 255 visible ASCII characters that name one purchase of the wallet. While a swap or a
   * payment under the key may still land, or has landed, the service offers nothing to sign for
   * another payment, and takes none. Send it with each step: what is first sent without it is not
   * found under it. A service without a journal ignores the key.
   */
  readonly idempotencyKey?: string | undefined;
}

/** Where a payment stands, and what to sign or send next. */
export interface PaymentResult {
  /**
   * `submitted`, `settled` and `failed` need a journal at the service: they say what became of a
   * payment that the service received before. `failed` is no proof: ask your own node before you
   * sign another payment.
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
   * Id of the attempt, if it is on record: the same in each answer and in each webhook about the
   * attempt.
   */
  readonly id?: string;
  /** `swap_required`: sign its transaction and send it back as `signedSwap`. */
  readonly swap?: SwapTransaction;
  /**
   * `swap_submitted`: signature of the swap, which is still unconfirmed: ask again. `settled`:
   * signature of the payment's transaction, as the service's own node shows it.
   */
  readonly signature?: string;
  /** `ready_to_sign`: base64 of the payment; sign it and send it back as `signedPayment`. */
  readonly payment?: { readonly transaction: string; readonly lastValidBlockHeight: string };
  /**
   * `ready_to_present`: repeat the request with this header. `submitted`, to the caller that sent
   * `signedPayment`: the same bytes may be presented again.
   */
  readonly header?: { readonly name: string; readonly value: string };
  /** The wallet's own signature on a payment that is on record, base58. */
  readonly payerSignature?: string;
  /**
   * Once this block height is final, a payment that is on record can no longer land. Decimal
   * string.
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
 * One method for each operation of the REST interface, in this process or at a service. Each result
 * is a hint: the client parses, judges, signs, sends and confirms by itself.
 */
export interface Transport {
  /**
   * Each call is a round trip to a service. So a client that has to swap first asks for a plan
   * (`autoPay`), and only then for a quote and a build.
   */
  readonly distant?: true;
  quote(request: SwapRequest, options?: TransportOptions): Promise<SwapQuote>;
  buildSwap(
    request: { readonly wallet: Address; readonly quote: SwapQuote },
    options?: TransportOptions,
  ): Promise<SwapTransaction>;
  /**
   * Returns only the swap instruction of a quote, for transports that have it at hand. A client
   * composes its own transaction, so it needs no built transaction to take apart.
   */
  swapInstruction?(
    request: { readonly wallet: Address; readonly quote: SwapQuote },
    options?: TransportOptions,
  ): Promise<SwapBuild>;
  /** The mint of wrapped SOL asks for native SOL. Without `mint`: every token of the wallet. */
  balance(
    request: { readonly wallet: Address; readonly mint?: string | readonly string[] },
    options?: TransportOptions,
  ): Promise<TokenBalance[]>;
  parsePayment(parts: PaymentResponseParts, options?: TransportOptions): Promise<ParsedPayment>;
  /**
   * Plans a payment step by step, without a key: each answer says what to sign and send next.
   * Stateless, unless the transport has a journal.
   */
  autoPay(request: AutoPayRequest, options?: TransportOptions): Promise<PaymentResult>;
}

/** @internal What the signed bytes of a request are. With both, the service takes the payment. */
export type Signed = 'swap' | 'payment';

/** @internal Returns what signed bytes a request brings, if any. */
export function signedIn(request: object = {}): Signed | undefined {
  const { signedSwap, signedPayment }: Partial<AutoPayRequest> = request;
  if (signedPayment !== undefined) return 'payment';
  return signedSwap === undefined ? undefined : 'swap';
}

/** @internal Whether a request brings signed bytes, which an equal one may have sent or recorded. */
export function isSigned(request?: object): boolean {
  return signedIn(request) !== undefined;
}

/**
 * @internal Returns a transport that its first call loads. `load` gets the signal of the call, to
 * stop waiting for the code when it fires.
 */
export function transportOf(
  load: (request: object, signal: AbortSignal | undefined) => Promise<Transport>,
): Transport {
  const loaded = ([request, options]: LoadingCall): Promise<Transport> => {
    requireObject(request, 'request');
    return load(request, options?.signal);
  };
  return {
    quote: async (...args) => (await loaded(args)).quote(...args),
    buildSwap: async (...args) => (await loaded(args)).buildSwap(...args),
    balance: async (...args) => (await loaded(args)).balance(...args),
    parsePayment: async (...args) => (await loaded(args)).parsePayment(...args),
    autoPay: async (...args) => (await loaded(args)).autoPay(...args),
  };
}

type LoadingCall = readonly [request: object, options?: TransportOptions | undefined];
