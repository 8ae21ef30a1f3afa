import fc from 'fast-check';
import { apiKeys, rateLimit } from 'exact-change/http';
import { describe, expect, it } from 'vitest';
import { BASE, serving } from './fake.js';

const from = (headers: Record<string, string>) => new Request(BASE, { headers });
const [first, second] = ['key-of-the-first-team', 'key-of-the-second-team'] as const;

describe('apiKeys', () => {
  it('accepts each listed key as a bearer token or in x-api-key', () => {
    const authorize = apiKeys([first, second]);
    for (const key of [first, second]) {
      expect(authorize(from({ authorization: `Bearer ${key}` }))).toBe(true);
      expect(authorize(from({ authorization: `bearer  ${key}` }))).toBe(true);
      expect(authorize(from({ 'x-api-key': key }))).toBe(true);
    }
  });

  it('refuses a missing key and every key that is not listed', () => {
    const authorize = apiKeys([first]);
    for (const key of [
      '',
      second,
      first.slice(0, -1),
      `${first}x`,
      first.toUpperCase(),
      'x'.repeat(10_000),
      'ä'.repeat(20),
    ]) {
      expect(authorize(from({ 'x-api-key': key }))).toBe(false);
      expect(authorize(from({ authorization: `Bearer ${key}` }))).toBe(false);
    }
    expect(authorize(from({}))).toBe(false);
    expect(authorize(from({ authorization: first }))).toBe(false);
    expect(authorize(from({ authorization: `Basic ${first}` }))).toBe(false);
  });

  it.each<[string, unknown]>([
    ['no keys', []],
    ['an empty key, as from a missing variable', ['']],
    ['a short key', ['short']],
    ['a key with spaces', ['two words of a key']],
    ['undefined', [undefined]],
    ['text instead of a list', first],
  ])('throws for %s', (_, keys) => {
    expect(() => apiKeys(keys as string[])).toThrow(
      expect.objectContaining({ code: 'invalid_option' }),
    );
  });

  it('guards a handler as its authorize hook', async () => {
    const { call } = serving({ authorize: apiKeys([first]) });
    const path = '/api/balance?wallet=7fUAJdStEuGbc3sM84cKRL6yYaaSstyLSU4ve5oovLS7';
    expect((await call(path)).status).toBe(401);
    expect((await call(path, { headers: { 'x-api-key': first } })).status).toBe(200);
  });
});

describe('rateLimit', () => {
  const keyOf = ({ headers }: Request) => headers.get('x-api-key') ?? '';
  const of = (key: string) => from({ 'x-api-key': key });

  it('allows a minute of requests at once, and then refills with time', () => {
    let at = 0;
    const limit = rateLimit({ perMinute: 60, now: () => at });
    const passed = () => limit(from({})) === 0;
    expect(Array.from({ length: 61 }, passed).filter(Boolean)).toHaveLength(60);
    expect(limit(from({}))).toBe(1_000);
    at += 400;
    expect(limit(from({}))).toBe(600);
    at += 600;
    expect([passed(), passed()]).toEqual([true, false]);
    at += 10 * 60_000;
    expect(Array.from({ length: 100 }, passed).filter(Boolean)).toHaveLength(60);
  });

  it('counts each caller separately', () => {
    const limit = rateLimit({ perMinute: 1, keyOf, now: () => 0 });
    expect([limit(of('a')), limit(of('b')), limit(of('a')) > 0]).toEqual([0, 0, true]);
  });

  it('never allows more requests than its tokens, for any times of arrival', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: -5_000, max: 20_000 }), { maxLength: 200 }),
        fc.integer({ min: 1, max: 30 }),
        (steps, perMinute) => {
          let at = 100_000;
          const limit = rateLimit({ perMinute, now: () => at });
          const passed = steps.filter((step) => {
            at += step;
            return limit(from({})) === 0;
          });
          const forward = steps.reduce((sum, step) => sum + Math.max(0, step), 0);
          expect(passed.length).toBeLessThanOrEqual(
            perMinute + (forward * perMinute) / 60_000 + 1e-6,
          );
        },
      ),
    );
  });

  it('remembers a bounded number of callers, and forgets the least recent', () => {
    const limit = rateLimit({ perMinute: 1, keyOf, now: () => 0, maxCallers: 3 });
    for (const key of ['a', 'b', 'c']) limit(of(key));
    expect(limit(of('a'))).toBeGreaterThan(0);
    limit(of('d'));
    expect(limit(of('a'))).toBeGreaterThan(0);
    expect(limit(of('b'))).toBe(0);
  });

  it.each([0, -1, 1.5, NaN, Infinity])('throws for %d requests a minute', (perMinute) => {
    expect(() => rateLimit({ perMinute })).toThrow(
      expect.objectContaining({ code: 'invalid_option', details: { option: 'perMinute' } }),
    );
  });
});
