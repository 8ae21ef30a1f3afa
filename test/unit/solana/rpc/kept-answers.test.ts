import { describe, expect, it } from 'vitest';
import type { Rpc } from '../../../../src/solana/rpc/rpc.js';
import { keepAnswers } from '../../../../src/solana/rpc/kept-answers.js';

/** A node whose rents are given out by the test, one after the other. */
function asked(answers: readonly (bigint | Error)[]) {
  let now = 0;
  const sizes: number[] = [];
  const left = [...answers];
  const rent: Rpc['rent'] = (bytes) => {
    sizes.push(bytes);
    const answer = left.shift() ?? new Error('asked too often');
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const node = keepAnswers({ rent } as Rpc, { now: () => now });
  return { node, sizes, setClock: (ms: number) => void (now = ms) };
}

describe('a rent', () => {
  it('is asked for once for each size, by callers at the same time too', async () => {
    const { node, sizes } = asked([1n, 2n]);
    expect(await Promise.all([node.rent(0), node.rent(165), node.rent(0)])).toEqual([1n, 2n, 1n]);
    expect(await node.rent(165)).toBe(2n);
    expect(sizes).toEqual([0, 165]);
  });

  it('is asked for again after ten minutes, and after a clock that was set back', async () => {
    const { node, sizes, setClock } = asked([1n, 2n, 3n]);
    setClock(1_000_000);
    await node.rent(0);
    setClock(1_599_999);
    expect(await node.rent(0)).toBe(1n);
    setClock(1_600_000);
    expect(await node.rent(0)).toBe(2n);
    setClock(5);
    expect(await node.rent(0)).toBe(3n);
    expect(sizes).toEqual([0, 0, 0]);
  });

  it('is asked for again after a failure, and by those that stay if one caller gives up', async () => {
    const { node } = asked([new Error('no node'), 7n]);
    await expect(node.rent(0)).rejects.toThrow('no node');
    const gone = AbortSignal.abort(new Error('gone'));
    const left = node.rent(0, { signal: gone });
    const kept = node.rent(0);
    await expect(left).rejects.toThrow('gone');
    expect(await kept).toBe(7n);
  });
});

describe('what is paid for accounts', () => {
  it('is asked for once in two seconds, in whatever order they stand', async () => {
    let now = 0;
    const asked: (readonly string[])[] = [];
    const priorityFees: Rpc['priorityFees'] = (accounts) => {
      asked.push(accounts);
      return Promise.resolve([BigInt(asked.length)]);
    };
    const node = keepAnswers({ priorityFees } as Rpc, { now: () => now });
    expect(await Promise.all([node.priorityFees(['b', 'a']), node.priorityFees(['c'])])).toEqual([
      [1n],
      [2n],
    ]);
    now = 1_999;
    expect(await node.priorityFees(['a', 'b'])).toEqual([1n]);
    now = 2_000;
    expect(await node.priorityFees(['a', 'b'])).toEqual([3n]);
    expect(asked).toEqual([['b', 'a'], ['c'], ['a', 'b']]);
  });
});
