import { describe, expect, it } from 'vitest';
import {
  askedWait,
  nextTry,
  backoffAfter,
  SCHEDULE_MS,
} from '../../../adapters/webhooks/schedule.js';
import { LONGEST_PAUSE_MS } from '../../../src/outbox/outbox.js';

const NOW = 1_800_000_000_000;
const HOUR_MS = 3_600_000;

describe('the schedule of retries', () => {
  it('follows Standard Webhooks', () => {
    expect(SCHEDULE_MS.map((ms) => ms / 1000)).toEqual([
      0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
    ]);
  });

  it.each(SCHEDULE_MS.map((delay, failures) => [failures, delay] as const).slice(1))(
    'waits after failure %i for %i ms with a tenth of jitter',
    (failures, delay) => {
      expect(nextTry(failures, NOW, 0.5)).toBe(NOW + delay);
      expect(nextTry(failures, NOW, 0)).toBe(NOW + delay * 0.9);
      expect(nextTry(failures, NOW, 1)).toBe(NOW + delay * 1.1);
    },
  );

  it('ends with the tenth failure, even with a Retry-After', () => {
    expect(nextTry(10, NOW, 0.5)).toBeUndefined();
    expect(nextTry(10, NOW, 0.5, HOUR_MS)).toBeUndefined();
  });

  it('waits for a longer Retry-After up to a day, and ignores a shorter value', () => {
    expect(nextTry(1, NOW, 0.5, 60_000)).toBe(NOW + 60_000);
    expect(nextTry(1, NOW, 0.5, 1)).toBe(NOW + 5_000);
    expect(nextTry(1, NOW, 0.5, 1000 * HOUR_MS)).toBe(NOW + 24 * HOUR_MS);
    const longest = nextTry(9, NOW, 1, HOUR_MS);
    expect(longest).toBe(NOW + 1.1 * 24 * HOUR_MS);
    expect(longest).toBeLessThan(NOW + LONGEST_PAUSE_MS);
  });
});

describe('the Retry-After header', () => {
  it.each<[string, number, string | undefined, number]>([
    ['seconds of a 429 in full', 429, '120', 120_000],
    ['seconds of a 503 in full', 503, ' 7 ', 7_000],
    ['a future date as its distance', 429, new Date(NOW + 90_000).toUTCString(), 90_000],
    ['a past date as 0', 429, new Date(NOW - 90_000).toUTCString(), 0],
    ['a missing header as 0', 429, undefined, 0],
    ['seconds of a 500 as 0', 500, '120', 0],
    ['seconds of a redirect as 0', 302, '120', 0],
    ['a negative number as 0', 429, '-5', 0],
    ['a fraction as 0', 429, '1.5', 0],
    ['a word as 0', 429, 'soon', 0],
    ['empty text as 0', 503, '', 0],
  ])('counts %s', (_, status, header, ms) => {
    expect(askedWait(status, header, NOW)).toBe(ms);
  });

  it('counts as a day when it has 400 digits', () => {
    expect(nextTry(1, NOW, 0.5, askedWait(429, '9'.repeat(400), NOW))).toBe(NOW + 24 * HOUR_MS);
  });
});

it('doubles the rest after each failure of the outbox, up to a minute', () => {
  expect([1, 2, 3, 6, 7, 50].map((failures) => backoffAfter(failures, 0.5))).toEqual([
    1_000, 2_000, 4_000, 32_000, 60_000, 60_000,
  ]);
});
