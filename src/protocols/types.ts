import type { Address } from '../solana/types.js';

/** A parsed JSON value. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export type X402Version = 1 | 2;

/**
 * One entry of `accepts`, exactly as the seller sent it: x402 v2 5.1.2, or v1 with
 * `maxAmountRequired`.
 */
export type PaymentRequirements = JsonObject;

/** The decoded 402 envelope. Everything in it is what the seller claims. */
export interface PaymentRequired {
  readonly x402Version: X402Version;
  readonly accepts: readonly PaymentRequirements[];
  readonly error?: string;
  readonly resource?: JsonObject;
  readonly extensions?: JsonObject;
  /** The URL that answered, if it is known. */
  readonly url?: string;
  /** The v1 body beside this v2 header. It counts only if no offer in the header can be paid. */
  readonly fallback?: PaymentRequired;
}

/** One entry of `accepts` in normalized fields, after every check that needs no chain. */
export interface Offer {
  readonly index: number;
  readonly x402Version: X402Version;
  readonly scheme: 'exact';
  /** CAIP-2 id of the cluster. */
  readonly network: string;
  /** Base units of the mint. */
  readonly amount: bigint;
  readonly mint: Address;
  /** Owner of the token account that receives the payment. */
  readonly payTo: Address;
  /** The facilitator's key: it pays the network fee and is the first signer. */
  readonly feePayer: Address;
  /** The seller's memo, at most 256 UTF-8 bytes. */
  readonly memo?: string;
  /**
   * Whether the payment gets the wallet's nonce as its memo if the seller names no memo. Some v1
   * sellers demand a memo, and some refuse it.
   */
  readonly takesMemo: boolean;
  /** A blockhash that the seller's facilitator offers (v2 only). */
  readonly recentBlockhash?: string;
  /** Decimals of the mint as the seller claims. They are compared with the chain and never used. */
  readonly claimedDecimals?: JsonValue;
  /** Seconds, 5 to 300. */
  readonly maxTimeoutSeconds: number;
  /** The entry as the seller sent it; the payment echoes it as `accepted`. */
  readonly raw: PaymentRequirements;
}

/** What the seller claims about the settlement: x402 v2 5.3.2. */
export interface Settlement {
  readonly success: boolean;
  /** The claimed transaction signature; empty if none. */
  readonly transaction: string;
  readonly network: string;
  readonly payer?: string;
  /** A reason of the spec, such as `insufficient_funds`, or the seller's own text, cleaned. */
  readonly errorReason?: string;
}

/** A payment that is ready to present: one request header. */
export interface PaymentHeader {
  /** `PAYMENT-SIGNATURE` or `X-PAYMENT` in x402. */
  readonly name: string;
  readonly value: string;
}
