import { describe, expect, it } from 'vitest';
import { createCoordination } from '../../../src/journal/registry.js';

describe('a counter', () => {
  it('goes up under each name, from its own start', async () => {
    const { next } = createCoordination();
    const [first, second, other] = [await next('a'), await next('a'), await next('b')];
    expect(second).toBe(first + 1);
    expect(other).toBeGreaterThan(0);
  });

  it('gives no number twice when two coordinations share the counts', async () => {
    const counts = new Map<string, number>();
    const both = [createCoordination(counts), createCoordination(counts)];
    const numbers = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => both[index % 2]?.next('a')),
    );
    expect(new Set(numbers).size).toBe(100);
  });

  it('keeps no more blockhashes than may be valid', async () => {
    const counts = new Map([['first', 7]]);
    for (let index = 0; index < 2_047; index += 1) counts.set(`hash${index}`, 1);
    const { next } = createCoordination(counts);
    expect(await next('first')).toBe(8);
    await next('newest');
    expect(counts.size).toBe(2_048);
    expect(counts.has('hash0')).toBe(false);
  });
});
