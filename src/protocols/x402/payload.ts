import { base64, hex } from '../../internal/bytes.js';
import { parseBase64 } from '../../internal/parse.js';
import { ProtocolError } from '../../errors.js';
import type { AttachedPayment, PaymentToAttach } from '../protocol.js';
import type { JsonObject, Offer, PaymentHeader, PaymentRequired } from '../types.js';
import { exactPaymentBytes } from './exact.js';
import { decodeHeader, encodeHeader, fieldsOf, isJsonObject } from './json.js';

const PAYMENT_ID = 'payment-identifier';
/**
 * The most characters of the payment header. Servers answer 431 from about 16 KB of headers on,
 * and the caller sends headers too (security.md P11).
 */
const LIMIT_BYTES = 12_288;
/** Upper bound on the header's own JSON: keys, braces and version, without the echoed values. */
const OWN_BYTES = 512;

const PAYMENT_ID_BYTES = 16;

export interface EncodePaymentInput extends Pick<PaymentToAttach, 'offer' | 'transaction'> {
  readonly paymentRequired: PaymentRequired;
  readonly paymentId?: string | undefined;
}

/**
 * Writes the request header that carries a payment: `PAYMENT-SIGNATURE` in v2, `X-PAYMENT` in v1.
 */
export function encodePayment({
  paymentRequired,
  offer,
  transaction,
  paymentId,
}: EncodePaymentInput): PaymentHeader {
  const payload = { transaction: base64.encode(transaction) };
  if (offer.x402Version === 1) {
    const { scheme, network } = offer.raw;
    return bounded('X-PAYMENT', encodeHeader({ x402Version: 1, scheme, network, payload }));
  }
  const write = (extensions: JsonObject | undefined) =>
    encodeHeader({
      x402Version: 2,
      payload,
      resource: paymentRequired.resource,
      accepted: offer.raw,
      extensions,
    });
  const whole = write(withPaymentId(paymentRequired.extensions, paymentId));
  if (whole.length <= LIMIT_BYTES) return { name: 'PAYMENT-SIGNATURE', value: whole };
  // A payment that echoes no extension is always valid (x402.md 1.4). So the long schemas of a
  // catalogue do not prevent the purchase.
  return bounded(
    'PAYMENT-SIGNATURE',
    write(withPaymentId(pick(paymentRequired.extensions, PAYMENT_ID), paymentId)),
  );
}

/** Writes a header as {@link encodePayment} does, with a new identifier if the seller takes it. */
export function attachPayment({
  terms,
  offer,
  transaction,
  random,
}: PaymentToAttach): AttachedPayment {
  const hasPaymentId = offersPaymentId(terms);
  const paymentId = hasPaymentId ? createPaymentId(random(PAYMENT_ID_BYTES)) : undefined;
  const header = encodePayment({ paymentRequired: terms, offer, transaction, paymentId });
  return { header, hasPaymentId };
}

/** Returns the transaction in a header of {@link encodePayment}; undefined if it has none. */
export function transactionIn({ value }: PaymentHeader): Uint8Array | undefined {
  const { transaction } = fieldsOf(fieldsOf(decodeHeader(value))['payload']);
  return typeof transaction === 'string' ? parseBase64(transaction) : undefined;
}

/**
 * Throws `header_too_large` if the header of a payment for the offer would be too large. Call it
 * before anything is swapped or signed for the offer.
 */
export function checkHeader(terms: PaymentRequired, offer: Offer): void {
  const bytes = exactPaymentBytes(offer);
  const echoed = JSON.stringify([offer.raw, terms.resource, terms.extensions]).length;
  // A character is at most three bytes of UTF-8, and three bytes are four characters of base64.
  // The transaction becomes base64 twice. Only the terms of a catalogue come near the limit, so
  // most calls return here and do not write the header.
  if (4 * echoed + 2 * bytes + OWN_BYTES <= LIMIT_BYTES) return;
  const transaction = new Uint8Array(bytes);
  attachPayment({ terms, offer, transaction, random: (length) => new Uint8Array(length) });
}

/**
 * Whether the seller takes a payment identifier, so that it answers a repeated payment without
 * a second charge.
 */
export function offersPaymentId(paymentRequired: PaymentRequired): boolean {
  return (
    paymentRequired.x402Version === 2 && paymentIdInfo(paymentRequired.extensions) !== undefined
  );
}

/** Returns a payment identifier: `pay_` and the hex of `random`, which has 16 bytes or more. */
export function createPaymentId(random: Uint8Array): string {
  return `pay_${hex.encode(random)}`;
}

/** Returns the seller's extensions, with our identifier set in the payment-identifier extension. */
function withPaymentId(
  extensions: JsonObject | undefined,
  paymentId: string | undefined,
): JsonObject | undefined {
  const info = paymentIdInfo(extensions);
  const declared = fieldsOf(extensions)[PAYMENT_ID];
  if (paymentId === undefined || info === undefined || !isJsonObject(declared)) return extensions;
  return { ...extensions, [PAYMENT_ID]: { ...declared, info: { ...info, id: paymentId } } };
}

function paymentIdInfo(extensions: JsonObject | undefined): JsonObject | undefined {
  const { info } = fieldsOf(fieldsOf(extensions)[PAYMENT_ID]);
  return isJsonObject(info) && typeof fieldsOf(info)['required'] === 'boolean' ? info : undefined;
}

function pick(object: JsonObject | undefined, key: string): JsonObject | undefined {
  const value = fieldsOf(object)[key];
  return value === undefined ? undefined : { [key]: value };
}

function bounded(name: 'PAYMENT-SIGNATURE' | 'X-PAYMENT', value: string): PaymentHeader {
  if (value.length <= LIMIT_BYTES) return { name, value };
  throw new ProtocolError(
    'header_too_large',
    `The payment header would be ${value.length} bytes, more than the ${LIMIT_BYTES} that servers take. Nothing was paid; the seller's terms must become shorter.`,
    { details: { bytes: value.length, limitBytes: LIMIT_BYTES } },
  );
}
