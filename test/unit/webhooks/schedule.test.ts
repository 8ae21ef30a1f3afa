import { describe, expect, it } from 'vitest';
import { askedWait, nextTry, restAfter, SCHEDULE_MS } from '../../../adapters/webhooks/schedule.js';

const NOW = 1_800_000_000_000;
const HOUR_MS = 3_600_000;

describe('the schedule of tries', () => {
  it('is that of Standard Webhooks', () => {
    expect(SCHEDULE_MS.map((ms) => ms / 1000)).toEqual([
      0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
    ]);
  });

  it.each(SCHEDULE_MS.map((delay, failures) => [failures, delay] as const).slice(1))(
    'waits after failure %i for %i ms, give or take a tenth',
    (failures, delay) => {
      expect(nextTry(failures, NOW, 0.5)).toBe(NOW + delay);
      expect(nextTry(failures, NOW, 0)).toBe(NOW + delay * 0.9);
      expect(nextTry(failures, NOW, 1)).toBe(NOW + delay * 1.1);
    },
  );

  it('ends with the tenth failure, whatever is asked for', () => {
    expect(nextTry(10, NOW, 0.5)).toBeUndefined();
    expect(nextTry(10, NOW, 0.5, HOUR_MS)).toBeUndefined();
  });

  it('waits as long as it is asked to, up to a day, and never less than by itself', () => {
    expect(nextTry(1, NOW, 0.5, 60_000)).toBe(NOW + 60_000);
    expect(nextTry(1, NOW, 0.5, 1)).toBe(NOW + 5_000);
    expect(nextTry(1, NOW, 0.5, 1000 * HOUR_MS)).toBe(NOW + 24 * HOUR_MS);
    expect(nextTry(9, NOW, 1, HOUR_MS)).toBe(NOW + 1.1 * 24 * HOUR_MS);
  });
});

describe('what an answer asks for', () => {
  it.each<[string, number, string | undefined, number]>([
    ['seconds, with 429', 429, '120', 120_000],
    ['seconds, with 503', 503, ' 7 ', 7_000],
    ['a date', 429, new Date(NOW + 90_000).toUTCString(), 90_000],
    ['a date that is over', 429, new Date(NOW - 90_000).toUTCString(), 0],
    ['nothing', 429, undefined, 0],
    ['with another status', 500, '120', 0],
    ['with a redirect', 302, '120', 0],
    ['less than nothing', 429, '-5', 0],
    ['a part', 429, '1.5', 0],
    ['words', 429, 'soon', 0],
    ['no words', 503, '', 0],
  ])('is read: %s', (_, status, header, ms) => {
    expect(askedWait(status, header, NOW)).toBe(ms);
  });

  it('may be longer than any number', () => {
    expect(nextTry(1, NOW, 0.5, askedWait(429, '9'.repeat(400), NOW))).toBe(NOW + 24 * HOUR_MS);
  });
});

it('leaves an outbox that fails alone for longer each time, up to a minute', () => {
  expect([1, 2, 3, 6, 7, 50].map((failures) => restAfter(failures, 0.5))).toEqual([
    1_000, 2_000, 4_000, 32_000, 60_000, 60_000,
  ]);
});
