import { ProtocolError } from '../errors.js';
import { refuse, requireObject } from '../internal/options.js';
import { isObject, isRecord } from '../internal/record.js';
import type { OfferReading } from '../protocols/protocol.js';
import type { PaymentRequired } from '../protocols/types.js';
import { readOffers } from '../protocols/x402/offers.js';
import { readTerms } from '../protocols/x402/body.js';
import type { ParsedOffer, ParsedPayment, PaymentResponseParts } from '../transport.js';

// The paying wallet is not known here. This address is never a payee, so no offer pays itself.
const NO_WALLET = '1nc1nerator11111111111111111111111111111111';

export function parsedPayment(parts: PaymentResponseParts, network: string): ParsedPayment {
  const terms = termsOf(parts, '');
  return {
    x402Version: terms.x402Version,
    offers: readOffers(terms, network, NO_WALLET).map((reading) => parsedOffer(reading, terms)),
  };
}

/**
 * @param path - Name of the option that holds the parts, with a dot; empty for the request itself.
 */
export function termsOf(parts: PaymentResponseParts, path = 'paymentRequired.'): PaymentRequired {
  requireObject(parts, 'paymentRequired');
  const { url, headers, body } = parts;
  const given: unknown = headers;
  if (given !== undefined && !isRecord(given))
    throw refuse(`${path}headers`, 'must be an object of header names and values.');
  const content = typeof body === 'string' || isObject(body) ? { body } : {};
  const terms = readTerms({
    ...(url === undefined ? {} : { url }),
    ...(headers === undefined ? {} : { headers }),
    ...content,
  });
  if (terms !== undefined) return terms;
  throw new ProtocolError(
    'malformed_payment_required',
    'The response asks for no x402 payment. Send its headers and body as they came.',
    { details: { reason: 'no payment terms' } },
  );
}

/** Yields the offers of a 402 that can be read, each with the terms that hold it. */
export function* readableOffers(
  terms: PaymentRequired,
  network: string,
  wallet: string,
): Iterable<{
  readonly envelope: PaymentRequired;
  readonly reading: OfferReading & { readonly ok: true };
}> {
  for (const envelope of terms.fallback === undefined ? [terms] : [terms, terms.fallback])
    for (const reading of readOffers(envelope, network, wallet))
      if (reading.ok) yield { envelope, reading };
}

export function parsedOffer(
  reading: OfferReading,
  { x402Version }: Pick<PaymentRequired, 'x402Version'>,
): ParsedOffer {
  if (!reading.ok)
    return { index: reading.refusal.index, x402Version, payable: false, refusal: reading.refusal };
  const { index, network, mint, amount, payTo, feePayer } = reading.offer;
  return {
    index,
    x402Version,
    payable: true,
    network,
    mint,
    amount: amount.toString(),
    payTo,
    feePayer,
  };
}
