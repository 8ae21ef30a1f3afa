import { describe, expect, it } from 'vitest';
import { errorCodes, type Moved } from '../../../src/errors.js';
import { isTrustedError } from '../../../src/wire/trusted-error.js';

const untouched = { funds: 'untouched', moved: [] } as const;
const swap: Moved = { kind: 'swap', signature: 'a' };
const payment: Moved = { kind: 'payment', signature: 'b' };
const disbelieved = (sent: boolean) =>
  errorCodes.filter((code) => !isTrustedError(code, untouched, sent));

describe('an error of a service that quotes and builds', () => {
  it('is not trusted if only a party that signs, pays or sends can know it', () => {
    const ofPayers = [
      'self_check_failed',
      'signing_failed',
      'payment_rejected',
      'payment_uncertain',
      'payment_in_progress',
      'already_spent',
    ];
    expect(disbelieved(true).sort()).toEqual([...ofPayers].sort());
    expect(disbelieved(false).sort()).toEqual(
      [...ofPayers, 'swap_failed', 'swap_expired', 'swap_uncertain'].sort(),
    );
  });

  it('is trusted about money only if nothing moved, when the service got no signed swap', () => {
    for (const funds of ['swapped', 'uncertain', 'spent'] as const)
      expect(isTrustedError('timeout', { funds, moved: [] }, false)).toBe(false);
    expect(isTrustedError('timeout', { funds: 'untouched', moved: [swap] }, false)).toBe(false);
  });

  it('is trusted about a signed swap that the service got, and never about a payment', () => {
    for (const funds of ['swapped', 'uncertain'] as const)
      expect(isTrustedError('timeout', { funds, moved: [swap] }, true)).toBe(true);
    expect(isTrustedError('timeout', { funds: 'spent', moved: [swap] }, true)).toBe(false);
    expect(isTrustedError('timeout', { funds: 'swapped', moved: [swap, payment] }, true)).toBe(
      false,
    );
  });
});
