import type { PaymentRequired } from '../types.js';
import { readTerms } from './body.js';
import type { PaymentRequiredParts } from './parse.js';

export type { PaymentRequiredParts } from './parse.js';

/**
 * Reads the payment terms of a 402, x402 v1 and v2: header `PAYMENT-REQUIRED`, then the JSON body,
 * then `X-Payment-Required`. Everything in the result is what the seller claims: it is frozen, and
 * no check has judged it yet.
 *
 * @returns The terms, or undefined if the 402 is no payment request: it has no payment header, and
 *   no JSON body with `x402Version` or with an offer in `accepts`.
 * @throws {ProtocolError} `malformed_payment_required` if it is a payment request that cannot be
 *   read.
 *
 * @example
 * const paymentRequired = parsePaymentRequired({
 *   headers: response.headers,
 *   body: await response.text(),
 * });
 * for (const offer of paymentRequired?.accepts ?? [])
 *   console.log(offer.network, offer.amount, offer.asset);
 */
export function parsePaymentRequired(parts: PaymentRequiredParts): PaymentRequired | undefined {
  return readTerms(parts);
}
