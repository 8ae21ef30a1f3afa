import type { LazyProtocol } from '../protocol.js';
import { readPaymentRequired } from './read.js';

/** x402, versions 1 and 2, scheme `exact` on Solana. */
export const x402: LazyProtocol = {
  id: 'x402',
  headers: ['payment-signature', 'x-payment'],
  detect: readPaymentRequired,
  load: () => import('./protocol.js').then(({ x402Protocol }) => x402Protocol),
};
