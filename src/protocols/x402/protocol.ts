import type { PaymentProtocol } from '../protocol.js';
import { buildExactPayment } from './exact.js';
import { refusesForm } from './form.js';
import { x402 } from './index.js';
import { judgeOffers } from './offers.js';
import { readOutcome } from './outcome.js';
import { isParsed, parsePaymentRequired } from './parse.js';
import { attachPayment, checkHeader, transactionIn } from './payload.js';
import { checkOwnPayment } from './self-check.js';

/** All of x402. */
export const x402Protocol: PaymentProtocol = {
  id: x402.id,
  headers: x402.headers,
  detect: x402.detect,
  parse: (body) => parsePaymentRequired({ body }),
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
