import { describe, expect, it } from 'vitest';
import { mayLiveUntil } from '../../../src/solana/height.js';

const tip = { slot: 1_000_000, height: 900_000n };

describe('the last height of a blockhash that was the latest at a slot', () => {
  it.each<[string, bigint, number, boolean]>([
    ['of now', 900_150n, 1_000_000, true],
    ['of a node a little behind', 900_130n, 999_980, true],
    ['of a chain that went on', 900_650n, 1_000_500, true],
    ['of a chain that skips half of its slots', 900_400n, 1_000_500, true],
    ['400 too low', 899_750n, 1_000_000, false],
    ['400 too high', 900_550n, 1_000_000, false],
    ['at a slot that is 10,000 too high', 900_150n, 1_010_000, false],
  ])('%s', (_, lastValidBlockHeight, slot, may) => {
    expect(mayLiveUntil(lastValidBlockHeight, slot, tip)).toBe(may);
  });
});
