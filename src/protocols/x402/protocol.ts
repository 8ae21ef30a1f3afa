import type { PaymentProtocol } from '../protocol.js';
import { buildExactPayment } from './exact.js';
import { refusesForm } from './facilitator-layout.js';
import { X402_HEADERS } from './index.js';
import { judgeOffers } from './offers.js';
import { readOutcome } from './settlement.js';
import { isParsed, readTerms } from './parse.js';
import { attachPayment, checkHeader, transactionIn } from './payload.js';
import { readPaymentRequired } from './read.js';
import { checkOwnPayment } from './self-check.js';

/** x402, versions 1 and 2, scheme `exact` on Solana. */
export const x402Protocol: PaymentProtocol = {
  id: 'x402',
  headers: X402_HEADERS,
  detect: readPaymentRequired,
  parse: (body) => readTerms({ body }),
  owns: isParsed,
  offers: judgeOffers,
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
