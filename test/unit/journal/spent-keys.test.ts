import { describe, expect, it } from 'vitest';
import { createSpentKeys } from '../../../src/journal/spent-keys.js';
import { DAY_MS, NOW } from '../../helpers/attempts.js';

const OWNER = { wallet: 'wallet', network: 'network' };

describe('the key of a finished purchase', () => {
  it('is remembered for a day, and longer while there are few keys', () => {
    const keys = createSpentKeys();
    for (let index = 0; index < 40_000; index += 1)
      keys.add(OWNER, `${index}`, index, NOW + Math.floor(index / 10_000) * DAY_MS);
    expect([0, 19_999, 20_000, 39_999].map((index) => keys.find(OWNER, `${index}`))).toEqual([
      [],
      [],
      [20_000],
      [39_999],
    ]);
    expect(keys.content()).toHaveLength(20_000);
    for (let index = 0; index < 30_000; index += 1) keys.add(OWNER, `same day ${index}`, 0, NOW);
    expect(keys.find(OWNER, '39999')).toEqual([39_999]);
  });

  it('belongs to its owner, and may have several purchases', () => {
    const keys = createSpentKeys();
    for (const purchase of ['first', 'second']) keys.add(OWNER, 'key', purchase, NOW);
    keys.add({ ...OWNER, network: 'another' }, 'key', 'third', NOW);
    expect(keys.find(OWNER, 'key')).toEqual(['first', 'second']);
    expect(keys.find({ ...OWNER, wallet: 'another' }, 'key')).toEqual([]);
    expect(keys.content().map(({ owner, key, one }) => [owner.network, key, one])).toEqual([
      ['network', 'key', 'first'],
      ['network', 'key', 'second'],
      ['another', 'key', 'third'],
    ]);
  });
});
