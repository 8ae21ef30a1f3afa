import { describe, expect, it } from 'vitest';
import type { Rpc } from '../../../../src/solana/rpc/rpc.js';
import { cacheAnswers } from '../../../../src/solana/rpc/kept-answers.js';

/** A node with the rents of the test, in order. */
function nodeWith(answers: readonly (bigint | Error)[]) {
  let now = 0;
  const sizes: number[] = [];
  const left = [...answers];
  const rent: Rpc['rent'] = (bytes) => {
    sizes.push(bytes);
    const answer = left.shift() ?? new Error('asked too often');
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const node = cacheAnswers({ rent } as Rpc, { now: () => now });
  return { node, sizes, setClock: (ms: number) => void (now = ms) };
}

describe('a rent', () => {
  it('is requested once for each size, also by callers at the same time', async () => {
    const { node, sizes } = nodeWith([1n, 2n]);
    expect(await Promise.all([node.rent(0), node.rent(165), node.rent(0)])).toEqual([1n, 2n, 1n]);
    expect(await node.rent(165)).toBe(2n);
    expect(sizes).toEqual([0, 165]);
  });

  it('is requested again after ten minutes, and after the clock was set back', async () => {
    const { node, sizes, setClock } = nodeWith([1n, 2n, 3n]);
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

  it('is requested again after a failure, and reaches the other callers when a caller aborts', async () => {
    const { node } = nodeWith([new Error('no node'), 7n]);
    await expect(node.rent(0)).rejects.toThrow('no node');
    const aborted = AbortSignal.abort(new Error('gone'));
    const left = node.rent(0, { signal: aborted });
    const kept = node.rent(0);
    await expect(left).rejects.toThrow('gone');
    expect(await kept).toBe(7n);
  });
});

describe('the priority fee of accounts', () => {
  it('is requested once in two seconds, whatever the order of the accounts', async () => {
    let now = 0;
    const asked: (readonly string[])[] = [];
    const priorityFees: Rpc['priorityFees'] = (accounts) => {
      asked.push(accounts);
      return Promise.resolve([BigInt(asked.length)]);
    };
    const node = cacheAnswers({ priorityFees } as Rpc, { now: () => now });
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
