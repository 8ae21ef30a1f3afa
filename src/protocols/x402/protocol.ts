import type { PaymentProtocol } from '../protocol.js';
import type { Offer } from '../types.js';
import { buildExactPayment } from './exact.js';
import { refusesForm } from './facilitator-layout.js';
import { X402_HEADERS } from './index.js';
import { readOffer } from './offer.js';
import { readOutcome } from './settlement.js';
import { isParsed } from './parse.js';
import { attachPayment, checkHeader, transactionIn } from './payload.js';
import { rareTerms, readPaymentRequired } from './read.js';
import { checkOwnPayment } from './self-check.js';

/** x402, versions 1 and 2, scheme `exact` on Solana. */
export const x402Protocol: PaymentProtocol = {
  id: 'x402',
  headers: X402_HEADERS,
  detect: readPaymentRequired,
  parse: async (body) => (await rareTerms()).readTerms({ body }),
  owns: isParsed,
  async offers(terms, network, self) {
    const read = terms.accepts.map((_, index) => readOffer(terms, index, network, self));
    return read.every(isOffer)
      ? { terms, readings: read.map((offer) => ({ ok: true, offer })) }
      : (await rareTerms()).judgeOffers(terms, network, self);
  },
  headerOf: ({ x402Version }) => (x402Version === 1 ? 'X-PAYMENT' : 'PAYMENT-SIGNATURE'),
  checkHeader,
  build(payment) {
    const built = buildExactPayment(payment);
    checkOwnPayment(built.message, payment);
    return built;
  },
  refusesForm,
  attach: attachPayment,
  transactionIn,
  readOutcome,
};

function isOffer(read: ReturnType<typeof readOffer>): read is Offer {
  return typeof read === 'object';
}
