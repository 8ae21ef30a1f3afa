import type { Address } from '../solana/types.js';

/** JSON as parsed. */
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

/** The decoded 402 envelope. Everything in it is the seller's word. */
export interface PaymentRequired {
  readonly x402Version: X402Version;
  readonly accepts: readonly PaymentRequirements[];
  readonly error?: string;
  readonly resource?: JsonObject;
  readonly extensions?: JsonObject;
  /** The URL that answered, if known. */
  readonly url?: string;
  /** The v1 body that came beside this v2 header: used only if nothing in the header is payable. */
  readonly fallback?: PaymentRequired;
}

/** One entry of `accepts` in our words, after every check that needs no chain. */
export interface Offer {
  readonly index: number;
  readonly x402Version: X402Version;
  readonly scheme: 'exact';
  /** CAIP-2. */
  readonly network: string;
  /** Base units. */
  readonly amount: bigint;
  readonly mint: Address;
  /** Owner of the receiving token account. */
  readonly payTo: Address;
  /** The facilitator's key: pays the network fee, and signs first. */
  readonly feePayer: Address;
  /** The seller's memo, at most 256 UTF-8 bytes. */
  readonly memo?: string;
  /**
   * Whether a memo of ours belongs into the payment if the seller names none: some v1 sellers
   * demand one, others refuse it.
   */
  readonly takesMemo: boolean;
  /** A blockhash that the seller's facilitator offers (v2 only). */
  readonly recentBlockhash?: string;
  /** What the seller says of the mint's decimals: held against the chain, and used for nothing. */
  readonly claimedDecimals?: JsonValue;
  /** Seconds, 5 to 300. */
  readonly maxTimeoutSeconds: number;
  /** The entry itself, echoed as `accepted`. */
  readonly raw: PaymentRequirements;
}

/** The seller's word on the settlement: x402 v2 5.3.2. */
export interface Settlement {
  readonly success: boolean;
  /** The claimed transaction signature; empty if none. */
  readonly transaction: string;
  readonly network: string;
  readonly payer?: string;
  /** A spec reason such as `insufficient_funds`, or the seller's own text, cleaned. */
  readonly errorReason?: string;
}

/** A payment that is ready to present: one request header. */
export interface PaymentHeader {
  /** `PAYMENT-SIGNATURE` or `X-PAYMENT` in x402. */
  readonly name: string;
  readonly value: string;
}
