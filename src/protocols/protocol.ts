import type { ExactChangeError, OfferRefusal } from '../errors.js';
import type { Address } from '../solana/types.js';
import type { Offer, PaymentHeader, PaymentRequired, Settlement } from './types.js';

/**
 * How sellers ask to be paid over HTTP, and how a payment is presented to them. x402 is one; another
 * is a folder beside it, and a place in the list that `src/parts.ts` composes a client of. Its
 * terms are brought into the form of `PaymentRequired`; what the wallet signs for them, which budget
 * it counts in and what the chain says of it is not the protocol's to decide.
 */
export interface PaymentProtocol {
  /** Such as `x402`. */
  readonly id: string;
  /** Request headers that carry its payments, in lower case. No redirect is followed with one. */
  readonly headers: readonly string[];
  /**
   * The terms of a response, or undefined if it does not ask for a payment of this protocol. Only a
   * copy of its body is read.
   *
   * @throws {ProtocolError} `malformed_payment_required` if it asks, and cannot be read.
   */
  detect(response: Response, options: ReadOptions): Promise<PaymentRequired | undefined>;
  /** The terms in an object that a caller has; undefined if they are not of this protocol. */
  parse(body: object): PaymentRequired | undefined | Promise<PaymentRequired | undefined>;
  /** Whether it has read these terms itself, from where they say. */
  owns(terms: PaymentRequired): boolean;
  /** Judges what the terms offer, as far as no chain is needed to tell. */
  offers(
    terms: PaymentRequired,
    network: string,
    self: Address,
  ): JudgedOffers | Promise<JudgedOffers>;
  /** Name of the request header that carries a payment for terms. */
  headerOf(terms: PaymentRequired): string;
  /** Throws `header_too_large` if no payment for an offer of these terms could be presented. */
  checkHeader(terms: PaymentRequired, offer: Offer): void;
  /** The message to sign, checked by code that has no part in building it. */
  build(payment: PaymentFacts): BuiltPayment;
  /**
   * Why no facilitator of an offer's kind takes a payment that the wallet has added instructions
   * to, as the end of a sentence; undefined if they take it.
   */
  refusesForm(offer: Offer, message: Uint8Array): string | undefined;
  /** The request header that carries a transaction. Throws `header_too_large`. */
  attach(payment: PaymentToAttach): AttachedPayment;
  /** The transaction that such a header carries; undefined if it carries none. */
  transactionIn(header: PaymentHeader): Uint8Array | undefined;
  /** What an answer to a paid request says of its payment. The body is read only of a 402. */
  readOutcome(response: Response, options: ReadOptions): Promise<SellersWord>;
}

/** How a response is read. */
export interface ReadOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * One entry of `accepts`: an offer that can be paid as far as no chain is needed to tell, or why it
 * cannot.
 */
export type OfferReading =
  | { readonly ok: true; readonly offer: Offer }
  | { readonly ok: false; readonly refusal: OfferRefusal; readonly error: ExactChangeError };

export interface JudgedOffers {
  /** The terms that the offers are from: a response may hold more than one version of them. */
  readonly terms: PaymentRequired;
  /** In the seller's order. */
  readonly readings: readonly OfferReading[];
}

/** Every fact that a payment is made of. */
export interface PaymentFacts {
  readonly offer: Offer;
  readonly payer: Address;
  /** The payer's associated token account of the mint. */
  readonly source: Address;
  /** The payee's. */
  readonly destination: Address;
  readonly tokenProgram: Address;
  /** From the mint on chain, never from the seller. */
  readonly decimals: number;
  readonly blockhash: string;
  /** 16 random bytes: what tells this payment from every other. */
  readonly nonce: Uint8Array;
  /**
   * Micro-lamports per compute unit if the memo is not ours: counted up per blockhash, so that no
   * two payments are equal.
   */
  readonly price: bigint;
}

/** Whether payments for an offer carry the nonce as their memo: then no price tells them apart. */
export function carriesNonce({ memo, takesMemo }: Offer): boolean {
  return memo === undefined && takesMemo;
}

export interface BuiltPayment {
  /** A serialized v0 message for two signers: the offer's fee payer, then the payer. */
  readonly message: Uint8Array;
  /** The memo in it, by which the payment is found on chain. */
  readonly memo?: string;
}

export interface PaymentToAttach {
  readonly terms: PaymentRequired;
  readonly offer: Offer;
  /** Wire bytes: our signature in its slot, the fee payer's slot empty. */
  readonly transaction: Uint8Array;
  /** Draws 16 bytes, for sellers that tell repeats of a payment by an identifier. */
  readonly random: () => Uint8Array;
}

export interface AttachedPayment {
  readonly header: PaymentHeader;
  /** Repeats of this header are one purchase to the seller, by an identifier in it. */
  readonly hasPaymentId: boolean;
}

/** What an answer to a paid request says of its payment. */
export interface SellersWord {
  readonly settlement?: Settlement | undefined;
  /** Why it was refused, in the seller's own words. */
  readonly reason?: string | undefined;
  /**
   * It has terms that servers send before they settle (x402.md 5.1): those of x402 version 2. Terms
   * of version 1 come with any refusal.
   */
  readonly hasTerms?: boolean;
}

/** The first protocol's terms that a response asks by. */
export async function detectTerms(
  protocols: readonly Pick<PaymentProtocol, 'detect'>[],
  response: Response,
  options: ReadOptions,
): Promise<PaymentRequired | undefined> {
  for (const protocol of protocols) {
    const terms = await protocol.detect(response, options);
    if (terms !== undefined) return terms;
  }
  return undefined;
}

/** The protocol that terms were read by; the first for terms that no protocol has read. */
export function protocolOf(
  protocols: readonly PaymentProtocol[],
  terms: PaymentRequired,
): PaymentProtocol {
  return known(protocols.find((one) => one.owns(terms)) ?? protocols[0]);
}

/** The protocol that a payment was signed for, by the name of its header. */
export function protocolOfHeader(
  protocols: readonly PaymentProtocol[],
  { name }: PaymentHeader,
): PaymentProtocol {
  const found = protocols.find(({ headers }) => headers.includes(name.toLowerCase()));
  return known(found ?? protocols[0]);
}

function known(protocol: PaymentProtocol | undefined): PaymentProtocol {
  if (protocol === undefined) throw new TypeError('A client is composed of one protocol or more.');
  return protocol;
}
