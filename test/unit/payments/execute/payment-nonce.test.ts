import { hex } from '@scure/base';
import { describe, expect, it } from 'vitest';
import { mayBeFor } from '../../../../src/payments/execute/nonce-check.js';
import { nonceFor } from '../../../../src/payments/execute/sign-payment.js';
import { systemRuntime } from '../../../../src/internal/runtime.js';

const { randomBytes } = systemRuntime;
const purpose = { url: 'https://a.test/x?y=1', idempotencyKey: 'order 1' };
const memoOf = (one: Parameters<typeof nonceFor>[0]) => hex.encode(nonceFor(one, randomBytes));

describe('the nonce of a payment', () => {
  it('is 16 bytes, another one each time', () => {
    for (const one of [purpose, { url: purpose.url }]) {
      const nonces = Array.from({ length: 100 }, () => memoOf(one));
      expect(new Set(nonces).size).toBe(100);
      for (const nonce of nonces) expect(nonce).toMatch(/^[0-9a-f]{32}$/);
    }
  });

  it('is of the purchase that it was made for, and of no other', () => {
    const memo = memoOf(purpose);
    expect(mayBeFor(memo, purpose)).toBe(true);
    expect(mayBeFor(memo, { ...purpose, url: `${purpose.url}#part` })).toBe(true);
    expect(mayBeFor(memo, { ...purpose, url: 'https://a.test/x' })).toBe(false);
    expect(mayBeFor(memo, { ...purpose, idempotencyKey: 'order 2' })).toBe(false);
    expect(mayBeFor(memo, { url: `${purpose.url}"`, idempotencyKey: 'order 1' })).toBe(false);
    // Cut anywhere else, the same letters are another purchase.
    expect(mayBeFor(memo, { url: `${purpose.url}o`, idempotencyKey: 'rder 1' })).toBe(false);
  });

  it('commits to nothing without a key, and is then of no purchase with one', () => {
    const memo = memoOf({ url: purpose.url });
    expect(mayBeFor(memo, { url: 'https://b.test' })).toBe(true);
    expect(mayBeFor(memo, purpose)).toBe(false);
  });

  it('stays the same for the same bytes of chance: what is on record is found again by another version', () => {
    const zeros = (length: number) => new Uint8Array(length);
    expect(hex.encode(nonceFor(purpose, zeros))).toBe('0000000000000000387dd931db7327cd');
  });

  it.each([undefined, 'invoice 2041', 'ABCDEF00112233445566778899AABBCC', '00'])(
    'is not what %s looks like: such a memo may be of any',
    (memo) => {
      expect(mayBeFor(memo, purpose)).toBe(true);
    },
  );
});
