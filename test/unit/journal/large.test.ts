import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLargeMap, createLargeSet } from '../../../src/journal/large.js';

const key = fc.integer({ min: 0, max: 400 }).map((number) => `key ${number}`);
const steps = fc.array(fc.tuple(fc.boolean(), key), { maxLength: 400 });

describe('a large map', () => {
  it('has what a map has, whatever was set and removed', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const [large, map] = [createLargeMap<number>(), new Map<string, number>()];
        for (const [at, [isSet, one]] of all.entries()) {
          if (isSet) large.set(one, at);
          else large.delete(one);
          if (isSet) map.set(one, at);
          else map.delete(one);
          expect([large.get(one), large.has(one)]).toEqual([map.get(one), map.has(one)]);
        }
        expect(large.size).toBe(map.size);
        expect(new Map(large)).toEqual(map);
      }),
    );
  });
});

describe('a large set', () => {
  it('has what a set has, in the same order, whatever was added and removed', () => {
    fc.assert(
      fc.property(fc.array(key), steps, (given, all) => {
        const [large, set] = [createLargeSet(given), new Set(given)];
        for (const [isAdded, one] of all) {
          if (isAdded) large.add(one);
          else large.delete(one);
          if (isAdded) set.add(one);
          else set.delete(one);
          expect([large.first(), large.has(one)]).toEqual([[...set][0], set.has(one)]);
        }
        expect(large.size).toBe(set.size);
        expect([...large]).toEqual([...set]);
      }),
    );
  });

  it('keeps its order through thousands that come and go, in front and between others', () => {
    const [large, set] = [createLargeSet(), new Set<string>()];
    for (let at = 0; at < 20_000; at += 1) {
      // What is added once more goes to the end.
      for (const id of [`${at}`, ...(at % 3 === 0 ? [`${at - 2}`] : [])]) {
        large.delete(id);
        set.delete(id);
        large.add(id);
        set.add(id);
      }
      const first = large.first() ?? '';
      if (at % 5 > 0 || at > 15_000) {
        large.delete(first);
        set.delete(first);
      }
    }
    expect([...large]).toEqual([...set]);
    expect(large.size).toBe(set.size);
  });

  it('forgets the places that many left which came back to its end', () => {
    const large = createLargeSet(['stays', 'goes']);
    for (let at = 0; at < 10_000; at += 1) {
      large.delete('goes');
      large.add('goes');
    }
    expect([...large]).toEqual(['stays', 'goes']);
    large.delete('stays');
    expect([large.first(), large.has('stays'), large.size]).toEqual(['goes', false, 1]);
  });
});
