import type { ExactChangeError, OfferRefusal } from '../errors.js';
import type { Address } from '../solana/types.js';
import type { Offer, PaymentHeader, PaymentRequired, Settlement } from './types.js';

/**
 * A way in which sellers ask to be paid over HTTP and take a payment. x402 is the first protocol; a
 * second protocol is a folder beside it and an entry in the list of `src/parts.ts`. A protocol
 * brings a seller's terms into the form of `PaymentRequired`. It does not decide what the wallet
 * signs, which budget a payment counts in, or the fate of a payment.
 */
export interface PaymentProtocol {
  /** Name of the protocol, such as `x402`. */
  readonly id: string;
  /**
   * Names of headers that carry a payment, in lower case. A request with a payment follows no
   * redirect.
   */
  readonly headers: readonly string[];
  /**
   * Returns the terms of a response, or undefined if the response does not ask for a payment of
   * this protocol. It reads a copy of the body only.
   *
   * @throws {ProtocolError} `malformed_payment_required` if the response asks for a payment in
   *   terms that cannot be read.
   */
  detect(response: Response, options: ReadOptions): Promise<PaymentRequired | undefined>;
  /** Returns the terms in an object of the caller; undefined if they are not of this protocol. */
  parse(body: object): PaymentRequired | undefined | Promise<PaymentRequired | undefined>;
  /** Whether this protocol read these terms from a response or a caller's object itself. */
  owns(terms: PaymentRequired): boolean;
  /** Judges each offer of the terms by every check that needs no chain. */
  offers(
    terms: PaymentRequired,
    network: string,
    self: Address,
  ): JudgedOffers | Promise<JudgedOffers>;
  headerOf(terms: PaymentRequired): string;
  /** Throws `header_too_large` if the header of a payment for the offer would be too large. */
  checkHeader(terms: PaymentRequired, offer: Offer): void;
  /** Builds the message to sign, after a check by code that has no part in building it. */
  build(payment: PaymentFacts): BuiltPayment;
  /**
   * Returns why official facilitators refuse a payment to which the wallet added instructions, as
   * the end of a sentence; undefined if they take it.
   */
  refusesForm(offer: Offer, message: Uint8Array): string | undefined;
  /** Returns the request header that carries a transaction. Throws `header_too_large`. */
  attach(payment: PaymentToAttach): AttachedPayment;
  /** Returns the transaction in a header of `attach`; undefined if the header has none. */
  transactionIn(header: PaymentHeader): Uint8Array | undefined;
  /** Reads what the seller says about a paid request. It reads the body of a 402 only. */
  readOutcome(response: Response, options: ReadOptions): Promise<SettlementClaim>;
}

export interface ReadOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The result for one entry of `accepts`: an offer that passes every check that needs no chain, or
 * why it cannot be paid.
 */
export type OfferReading =
  | { readonly ok: true; readonly offer: Offer }
  | { readonly ok: false; readonly refusal: OfferRefusal; readonly error: ExactChangeError };

export interface JudgedOffers {
  /** The terms that hold the offers: a response may hold terms of both versions. */
  readonly terms: PaymentRequired;
  /** One reading for each entry of `accepts`, in the seller's order. */
  readonly readings: readonly OfferReading[];
}

/** Every value that a payment is built from. */
export interface PaymentFacts {
  readonly offer: Offer;
  readonly payer: Address;
  /** The payer's associated token account for the mint. */
  readonly source: Address;
  /** The payee's associated token account for the mint. */
  readonly destination: Address;
  readonly tokenProgram: Address;
  /** Decimals of the mint as the chain has them, never as the seller says. */
  readonly decimals: number;
  readonly blockhash: string;
  /** 16 random bytes that make this payment unique. */
  readonly nonce: Uint8Array;
  /**
   * Micro-lamports per compute unit. It counts up for each payment with the same blockhash. So
   * payments without a nonce as their memo are never equal.
   */
  readonly price: bigint;
}

/** Whether a payment for the offer has the nonce as its memo: then the price need not be unique. */
export function carriesNonce({ memo, takesMemo }: Offer): boolean {
  return memo === undefined && takesMemo;
}

export interface BuiltPayment {
  /** A serialized v0 message for two signers: the offer's fee payer, then the payer. */
  readonly message: Uint8Array;
  /** The memo in the message; a search on the chain finds the payment by it. */
  readonly memo?: string;
}

export interface PaymentToAttach {
  readonly terms: PaymentRequired;
  readonly offer: Offer;
  /** The serialized transaction: the wallet's signature is set, the fee payer's slot is empty. */
  readonly transaction: Uint8Array;
  /** Draws bytes for a payment identifier, which tells some sellers that a payment repeats. */
  readonly random: (length: number) => Uint8Array;
}

export interface AttachedPayment {
  readonly header: PaymentHeader;
  /** Whether the header has a payment identifier, so that its repeats are one purchase. */
  readonly hasPaymentId: boolean;
}

/** What the seller says about the payment in its answer to a paid request. */
export interface SettlementClaim {
  readonly settlement?: Settlement | undefined;
  /** Why the seller refused the payment, in its own words. */
  readonly reason?: string | undefined;
  /**
   * Whether the answer has terms of version 2, which servers send before they settle
   * (x402.md 5.1). Terms of version 1 come with any refusal, so they do not count.
   */
  readonly hasTerms?: boolean;
}

export function detectTerms(
  protocols: readonly Pick<PaymentProtocol, 'detect'>[],
  response: Response,
  options: ReadOptions,
): Promise<PaymentRequired | undefined> {
  return firstTerms(protocols, (protocol) => protocol.detect(response, options));
}

/** Returns the terms that the first protocol reads that can. */
export async function firstTerms<P>(
  protocols: readonly P[],
  read: (protocol: P) => ReturnType<PaymentProtocol['parse']>,
): Promise<PaymentRequired | undefined> {
  for (const protocol of protocols) {
    const terms = await read(protocol);
    if (terms !== undefined) return terms;
  }
  return undefined;
}

/** Returns the protocol that read the terms; the first protocol if none read them. */
export function protocolOf(
  protocols: readonly PaymentProtocol[],
  terms: PaymentRequired,
): PaymentProtocol {
  return required(protocols.find((protocol) => protocol.owns(terms)) ?? protocols[0]);
}

/** Returns the protocol of a signed payment, by the name of its header. */
export function protocolOfHeader(
  protocols: readonly PaymentProtocol[],
  { name }: PaymentHeader,
): PaymentProtocol {
  const found = protocols.find(({ headers }) => headers.includes(name.toLowerCase()));
  return required(found ?? protocols[0]);
}

function required(protocol: PaymentProtocol | undefined): PaymentProtocol {
  if (protocol === undefined) throw new TypeError('A client is composed of one protocol or more.');
  return protocol;
}
