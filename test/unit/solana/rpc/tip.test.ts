import { describe, expect, it } from 'vitest';
import { followsFrom, mayLiveUntil, tipAt } from '../../../../src/solana/rpc/tip.js';

const tip = { slot: 1_000_000, height: 900_000n };

describe('the last height of a blockhash that was the latest at a slot', () => {
  it.each<[string, bigint, number, boolean]>([
    ['of the present', 900_150n, 1_000_000, true],
    ['of a node a little behind', 900_130n, 999_980, true],
    ['of a chain that went on', 900_650n, 1_000_500, true],
    ['of a chain that skips half of its slots', 900_400n, 1_000_500, true],
    ['400 too low', 899_750n, 1_000_000, false],
    ['400 too high', 900_550n, 1_000_000, false],
    ['at a slot that is 10,000 too high', 900_150n, 1_010_000, false],
  ])('is plausible or not: %s', (_, lastValidBlockHeight, slot, may) => {
    expect(mayLiveUntil({ slot, lastValidBlockHeight }, tip)).toBe(may);
  });
});

describe('a blockhash after an earlier blockhash of the same node', () => {
  const earlier = tipAt({ slot: 1_000_000, lastValidBlockHeight: 900_150n });

  it.each<[string, bigint, number, boolean]>([
    ['at once', 900_150n, 1_000_000, true],
    ['from a node a little behind', 900_130n, 999_980, true],
    ['half a minute later', 900_222n, 1_000_075, true],
    ['ten minutes later, of a chain that skips one slot in ten', 901_500n, 1_001_500, true],
    ['ten minutes later, of a chain that skips half of its slots', 900_900n, 1_001_500, false],
    ['an hour later', 909_150n, 1_009_000, false],
    ['400 too low', 901_100n, 1_001_500, false],
    ['40 too low at once', 900_110n, 1_000_000, false],
    ['40 too high', 900_690n, 1_000_500, false],
    ['at a slot that is 400 too high', 900_150n, 1_000_400, false],
  ])('follows, or needs the height of the node: %s', (_, lastValidBlockHeight, slot, follows) => {
    expect(followsFrom({ slot, lastValidBlockHeight }, earlier)).toBe(follows);
  });
});
