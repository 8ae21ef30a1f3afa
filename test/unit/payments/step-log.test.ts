import { describe, expect, it } from 'vitest';
import { createEvents, type ClientEvent } from '../../../src/events.js';
import { hideKey } from '../../../src/internal/redact.js';
import { SOLANA_MAINNET } from '../../../src/network.js';
import { lineOf, logSteps } from '../../../src/payments/step-log.js';

const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';

describe('the log line of a step', () => {
  it('shows amounts in words, and hides the user and the query of an address', () => {
    const base = { id: 'abcdef0123456789', at: 0 };
    const url = 'https://user:word@api.test/premium?token=secret#part';
    const lines = (
      [
        { ...base, type: 'payment.required', url, method: 'GET', offers: 2 },
        {
          ...base,
          ...{ type: 'payment.chosen', url, network: SOLANA_MAINNET, mint: USDC },
          ...{ amount: '10000', decimals: 6, payTo: 'Payee', refused: [] },
        },
        { ...base, type: 'swap.failed', signature: 'Sig', code: 'swap_expired' },
      ] satisfies ClientEvent[]
    ).map((event) => lineOf(event, SOLANA_MAINNET));
    expect(lines).toEqual([
      'exact-change abcdef payment.required: GET https://api.test/premium asks for payment (offers: 2)',
      'exact-change abcdef payment.chosen: 0.01 USDC to Payee',
      'exact-change abcdef swap.failed: swap_expired, Sig',
    ]);
  });

  it('hides known keys', () => {
    hideKey('a-key-in-a-path-77');
    const url = 'https://api.test/a-key-in-a-path-77/data';
    const event: ClientEvent = { type: 'payment.sent', id: 'abcdef', at: 0, url, method: 'GET' };
    expect(lineOf(event, SOLANA_MAINNET)).toBe(
      'exact-change abcdef payment.sent: GET https://api.test/[hidden]/data',
    );
  });

  it('changes nothing when the logger throws', () => {
    const events = createEvents(() => 0);
    logSteps(
      events,
      {
        debug() {
          throw new Error('full disk');
        },
      },
      SOLANA_MAINNET,
    );
    expect(() => events.emitter('abcdef')('warning', { message: 'x' })).not.toThrow();
  });
});
