import type { PaymentProtocol } from '../protocol.js';
import { judgeOffers } from './offers.js';
import { isParsed, parsePaymentRequired } from './parse.js';
import { attachPayment } from './payload.js';
import { readPaymentRequired } from './read.js';
import { readOutcome } from './outcome.js';

/** x402, versions 1 and 2, scheme `exact` on Solana. */
export const x402: PaymentProtocol = {
  id: 'x402',
  headers: ['payment-signature', 'x-payment'],
  detect: readPaymentRequired,
  parse: (body) => parsePaymentRequired({ body }),
  owns: isParsed,
  offers: judgeOffers,
  async build(payment) {
    // A client that never pays never loads what builds transactions.
    const [{ buildExactPayment }, { checkOwnPayment }] = await Promise.all([
      import('./exact.js'),
      import('./self-check.js'),
    ]);
    const built = buildExactPayment(payment);
    checkOwnPayment(built.message, payment);
    return built;
  },
  attach: attachPayment,
  readOutcome,
};
