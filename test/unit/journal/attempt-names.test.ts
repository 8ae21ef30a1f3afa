import { describe, expect, it } from 'vitest';
import { createAttemptStore } from '../../../src/journal/attempt-store.js';
import { isClosed } from '../../../src/journal/attempt-names.js';
import { paymentPrint, swapPrint } from '../../../src/service/records.js';
import { attemptOf, DAY_MS, NOW } from '../../helpers/attempts.js';

const OWNER = { wallet: 'wallet', network: 'network' };
const fingerprint = paymentPrint('signature');
const ownPrint = 'id';

describe('an attempt with an answer that no call of the client awaits', () => {
  it.each([
    ['settled', paymentPrint('signature'), true],
    ['settled', swapPrint('signature'), true],
    ['unsettled', fingerprint, true],
    ['signed', fingerprint, false],
    ['reserved', fingerprint, false],
    // As of `client.pay` and of a swap that counts.
    ['settled', ownPrint, true],
    ['signed', ownPrint, false],
    ['abandoned', ownPrint, false],
    // A client may still ask for an answer that it did not give to its caller.
    ['settled', 'a request', false],
  ] as const)('is closed or not in state %s with fingerprint %j: %j', (state, print, closed) => {
    expect(isClosed(attemptOf({ id: 'id', state, fingerprint: print }))).toBe(closed);
  });

  it.each([
    ['a payment of a service', (id: string) => paymentPrint(id)],
    ['a payment of client.pay', (id: string) => id],
  ])('leaves the list and still counts beyond 10000 settled ones: %s', (_, printOf) => {
    const store = createAttemptStore();
    for (let made = 0; made <= 10_005; made += 1) {
      const [id, at] = [`${made}`, NOW - 2 * DAY_MS];
      const attempt = attemptOf({ id, fingerprint: printOf(id), at });
      store.keep(attempt);
      store.keep({ ...attempt, state: 'signed' });
      store.keep({ ...attempt, state: 'settled' });
    }
    store.keep(attemptOf());
    expect([...store.attempts(OWNER)]).toHaveLength(10_001);
    expect(store.used(OWNER, [{ name: 'maxTotal', unit: 'payments', limit: 1n }], NOW)).toEqual([
      10_007n,
    ]);
    expect(store.similar(OWNER, printOf('10005'), undefined)).toHaveLength(1);
  });
});
