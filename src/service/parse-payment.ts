import { ProtocolError } from '../errors.js';
import type { OfferReading } from '../protocols/protocol.js';
import type { PaymentRequired } from '../protocols/types.js';
import { readOffers } from '../protocols/x402/offers.js';
import { readTerms } from '../protocols/x402/body.js';
import type { ParsedOffer, ParsedPayment, PaymentResponseParts } from '../transport.js';

// Which wallet will pay is not known here, and no payee is this one.
const NO_WALLET = '1nc1nerator11111111111111111111111111111111';

/**
 * The terms of a 402, each entry normalised. Throws `malformed_payment_required` if there are
 * none, or they cannot be read.
 */
export function parsedPayment(parts: PaymentResponseParts, network: string): ParsedPayment {
  const terms = termsOf(parts);
  return {
    x402Version: terms.x402Version,
    offers: readOffers(terms, network, NO_WALLET).map((reading) => parsedOffer(reading, terms)),
  };
}

/** The terms of a 402. Throws `malformed_payment_required`. */
export function termsOf({ url, headers, body }: PaymentResponseParts): PaymentRequired {
  const content =
    typeof body === 'string' || (typeof body === 'object' && body !== null) ? { body } : {};
  const terms = readTerms({
    ...(url === undefined ? {} : { url }),
    ...(headers === undefined ? {} : { headers }),
    ...content,
  });
  if (terms !== undefined) return terms;
  throw new ProtocolError(
    'malformed_payment_required',
    'The response asks for no x402 payment. Send its headers and body as they came.',
    {
      details: { reason: 'no payment terms' },
    },
  );
}

/** One reading of an entry, as data. */
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
