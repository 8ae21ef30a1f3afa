import { createHmac } from 'node:crypto';
import type { WebhookEvent } from '../../../src/outbox/outbox.js';

export const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
export const OTHER_SECRET = 'whsec_5WbX5kEWLlfzsGNjH64I8lOOqUB6e8FH5WbX5kEWLlfz';
export const WALLET = '7fUAJdStEuGbc3sM84cKRL6yYaaSstyLSU4ve5oovLS7';

/** Signs with Node's own HMAC, so that an error of the library cannot confirm itself. */
export function hmac(
  secret: string,
  id: string,
  seconds: number | string,
  body: string | Uint8Array,
): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.`).update(body).digest('base64')}`;
}

export function eventOf(
  over: Partial<Extract<WebhookEvent, { type: 'payment.settled' }>> = {},
): WebhookEvent {
  return {
    id: '0a1b2c_payment_settled',
    type: 'payment.settled',
    timestamp: '2026-11-20T10:00:00.000Z',
    data: {
      ...{ id: '0a1b2c', wallet: WALLET, network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp' },
      ...{ url: 'https://api.example.com/caf%C3%A9', method: 'GET' },
      ...{ mint: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v', amount: '10000', payTo: WALLET },
      ...{ payerSignature: 'payer signature', signature: 'signature ü' },
    },
    ...over,
  };
}
