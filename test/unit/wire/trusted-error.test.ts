import { describe, expect, it } from 'vitest';
import { errorCodes, type Moved } from '../../../src/errors.js';
import type { Signed } from '../../../src/transport.js';
import { isTrustedError } from '../../../src/wire/trusted-error.js';

const untouched = { funds: 'untouched', moved: [] } as const;
const swap: Moved = { kind: 'swap', signature: 'a' };
const payment: Moved = { kind: 'payment', signature: 'b' };
const disbelieved = (sent?: Signed) =>
  errorCodes.filter((code) => !isTrustedError(code, untouched, sent)).sort();

describe('an error of a service that quotes and builds', () => {
  it('is not trusted if only a party that signs, pays or sends the swap can know it', () => {
    const ofPayers = [
      'self_check_failed',
      'signing_failed',
      'payment_rejected',
      'payment_uncertain',
      'payment_in_progress',
      'already_spent',
    ];
    const ofSenders = ['swap_failed', 'swap_expired', 'swap_uncertain'];
    expect(disbelieved('swap')).toEqual([...ofPayers].sort());
    expect(disbelieved()).toEqual([...ofPayers, ...ofSenders].sort());
    expect(disbelieved('payment')).toEqual(disbelieved());
  });

  it('is trusted about money only if nothing moved, when the service got nothing signed', () => {
    for (const funds of ['swapped', 'uncertain', 'spent'] as const)
      expect(isTrustedError('timeout', { funds, moved: [] })).toBe(false);
    expect(isTrustedError('timeout', { funds: 'untouched', moved: [swap] })).toBe(false);
  });

  it.each(['swap', 'payment'] as const)(
    'is trusted about a swap when the service got a signed %s, and never about a payment',
    (sent) => {
      for (const funds of ['swapped', 'uncertain'] as const)
        expect(isTrustedError('timeout', { funds, moved: [swap] }, sent)).toBe(true);
      expect(isTrustedError('timeout', { funds: 'spent', moved: [swap] }, sent)).toBe(false);
      expect(isTrustedError('timeout', { funds: 'swapped', moved: [swap, payment] }, sent)).toBe(
        false,
      );
    },
  );
});
