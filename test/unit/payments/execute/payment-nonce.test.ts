import { hex } from '@scure/base';
import { describe, expect, it } from 'vitest';
import { mayBeFor, nonceFor } from '../../../../src/payments/execute/sign-payment.js';
import { systemRuntime } from '../../../../src/internal/runtime.js';

const { randomBytes } = systemRuntime;
const purpose = { url: 'https://a.test/x?y=1', idempotencyKey: 'order 1' };
const memoOf = (target: Parameters<typeof nonceFor>[0]) =>
  hex.encode(nonceFor(target, randomBytes));

describe('the nonce of a payment', () => {
  it('is 16 bytes and different each time', () => {
    for (const target of [purpose, { url: purpose.url }]) {
      const nonces = Array.from({ length: 100 }, () => memoOf(target));
      expect(new Set(nonces).size).toBe(100);
      for (const nonce of nonces) expect(nonce).toMatch(/^[0-9a-f]{32}$/);
    }
  });

  it('matches the purchase that it was made for, and no other purchase', () => {
    const memo = memoOf(purpose);
    expect(mayBeFor(memo, purpose)).toBe(true);
    expect(mayBeFor(memo, { ...purpose, url: `${purpose.url}#part` })).toBe(true);
    expect(mayBeFor(memo, { ...purpose, url: 'https://a.test/x' })).toBe(false);
    expect(mayBeFor(memo, { ...purpose, idempotencyKey: 'order 2' })).toBe(false);
    expect(mayBeFor(memo, { url: `${purpose.url}"`, idempotencyKey: 'order 1' })).toBe(false);
    // The same letters, split at another place, are another purchase.
    expect(mayBeFor(memo, { url: `${purpose.url}o`, idempotencyKey: 'rder 1' })).toBe(false);
  });

  it('matches any purchase without a key and no purchase with a key, when made without a key', () => {
    const memo = memoOf({ url: purpose.url });
    expect(mayBeFor(memo, { url: 'https://b.test' })).toBe(true);
    expect(mayBeFor(memo, purpose)).toBe(false);
  });

  it('stays the same for the same random bytes, so that another version finds it on record', () => {
    const zeros = (length: number) => new Uint8Array(length);
    expect(hex.encode(nonceFor(purpose, zeros))).toBe('0000000000000000387dd931db7327cd');
  });

  it.each([undefined, 'invoice 2041', 'ABCDEF00112233445566778899AABBCC', '00'])(
    'may be for any purchase when its memo is %s',
    (memo) => {
      expect(mayBeFor(memo, purpose)).toBe(true);
    },
  );
});
