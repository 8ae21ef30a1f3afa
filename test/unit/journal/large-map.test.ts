import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLargeMap, createLargeSet } from '../../../src/journal/large-map.js';

const key = fc.integer({ min: 0, max: 400 }).map((number) => `key ${number}`);
const steps = fc.array(fc.tuple(fc.boolean(), key), { maxLength: 400 });

describe('a large map', () => {
  it('matches a Map for any order of sets and deletes', () => {
    fc.assert(
      fc.property(steps, (operations) => {
        const [large, map] = [createLargeMap<number>(), new Map<string, number>()];
        for (const [at, [isSet, id]] of operations.entries()) {
          if (isSet) large.set(id, at);
          else large.delete(id);
          if (isSet) map.set(id, at);
          else map.delete(id);
          expect([large.get(id), large.has(id)]).toEqual([map.get(id), map.has(id)]);
        }
        expect(large.size).toBe(map.size);
        expect(new Map(large)).toEqual(map);
      }),
    );
  });
});

describe('a large set', () => {
  it('matches a Set and its order for any order of adds and deletes', () => {
    fc.assert(
      fc.property(fc.array(key), steps, (initial, operations) => {
        const [large, set] = [createLargeSet(initial), new Set(initial)];
        for (const [isAdded, id] of operations) {
          if (isAdded) large.add(id);
          else large.delete(id);
          if (isAdded) set.add(id);
          else set.delete(id);
          expect([large.first(), large.has(id)]).toEqual([[...set][0], set.has(id)]);
        }
        expect(large.size).toBe(set.size);
        expect([...large]).toEqual([...set]);
      }),
    );
  });

  it('keeps its order when thousands of entries come and go at the front and in between', () => {
    const [large, set] = [createLargeSet(), new Set<string>()];
    for (let at = 0; at < 20_000; at += 1) {
      // An entry that is added again goes to the end.
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

  it('frees the places of entries that were deleted or added again at the end', () => {
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
