import { describe, expect, it } from 'vitest';
import type { Rpc, SignatureStatus } from '../../../../src/solana/rpc/rpc.js';
import { batchStatuses } from '../../../../src/solana/rpc/batch-statuses.js';

const until = new AbortController().signal;

/** One that says which it is of; `gone` is known to no node. */
const statusOf = (signature: string): SignatureStatus | null =>
  signature === 'gone'
    ? null
    : { slot: signature.length, commitment: 'confirmed', error: signature };

/** A clock that stands still but for sleeps, of which several go on at once. */
function batching() {
  let now = 0;
  const asked: { readonly at: number; readonly signatures: readonly string[] }[] = [];
  let failure: Error | undefined;
  const statuses: Rpc['statuses'] = (signatures) => {
    asked.push({ at: now, signatures: [...signatures] });
    return failure === undefined
      ? Promise.resolve(signatures.map(statusOf))
      : Promise.reject(failure);
  };
  const runtime = {
    now: () => now,
    sleep: async (ms: number) => {
      const end = now + ms;
      await new Promise((turn) => setImmediate(turn));
      now = Math.max(now, end);
    },
  };
  return {
    asked,
    ask: batchStatuses({ statuses }, runtime),
    fail: (error: Error | undefined) => void (failure = error),
    pass: (ms: number) => void (now += ms),
  };
}

describe('statuses that are asked for within a second', () => {
  it('are asked for together, and each caller gets its own', async () => {
    const { ask, asked } = batching();
    expect(await ask('first', until)).toEqual(statusOf('first'));
    const many = ['a', 'gone', 'bb', 'a'];
    expect(await Promise.all(many.map((one) => ask(one, until)))).toEqual(many.map(statusOf));
    expect(asked).toEqual([
      { at: 0, signatures: ['first'] },
      { at: 1_000, signatures: many },
    ]);
  });

  it('wait no longer than that second lasts, nor for a clock that was set back', async () => {
    const { ask, asked, pass } = batching();
    await ask('a', until);
    pass(700);
    await ask('b', until);
    pass(5_000);
    await ask('c', until);
    pass(-3_000);
    await ask('d', until);
    expect(asked.map(({ at }) => at)).toEqual([0, 1_000, 6_000, 3_000]);
  });

  it('are at most 256 of a request', async () => {
    const { ask, asked } = batching();
    const many = Array.from({ length: 600 }, (_, index) => 'x'.repeat(index));
    expect(await Promise.all(many.map((one) => ask(one, until)))).toEqual(many.map(statusOf));
    expect(asked.map(({ signatures }) => signatures.length).sort()).toEqual([256, 256, 88]);
  });

  it('fail for all that were asked for together, and for no other', async () => {
    const { ask, fail } = batching();
    fail(new Error('no node answers'));
    const both = await Promise.allSettled([ask('a', until), ask('b', until)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    fail(undefined);
    expect(await ask('a', until)).toEqual(statusOf('a'));
  });

  it('are left to the others by a caller that gives up, and not asked for if all do', async () => {
    const { ask, asked } = batching();
    const gone = new AbortController();
    const given = ask('a', gone.signal);
    const kept = ask('bb', until);
    gone.abort(new Error('gone'));
    await expect(given).rejects.toThrow('gone');
    expect(await kept).toEqual(statusOf('bb'));
    await expect(ask('c', gone.signal)).rejects.toThrow('gone');
    expect(asked).toHaveLength(1);
  });
});
