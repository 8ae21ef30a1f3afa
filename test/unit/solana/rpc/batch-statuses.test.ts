import { describe, expect, it } from 'vitest';
import type { Rpc, SignatureStatus } from '../../../../src/solana/rpc/rpc.js';
import { batchStatuses } from '../../../../src/solana/rpc/batch-statuses.js';

const until = new AbortController().signal;

/** A status with its signature as the error. No node knows the signature `gone`. */
const statusOf = (signature: string): SignatureStatus | null =>
  signature === 'gone'
    ? null
    : { slot: signature.length, commitment: 'confirmed', error: signature };

/** A clock that only sleeps move. Several sleeps may run at the same time. */
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

describe('a batch of statuses within a second', () => {
  it('asks for all statuses together, and gives each caller its own', async () => {
    const { ask, asked } = batching();
    expect(await ask('first', until)).toEqual(statusOf('first'));
    const many = ['a', 'gone', 'bb', 'a'];
    expect(await Promise.all(many.map((signature) => ask(signature, until)))).toEqual(
      many.map(statusOf),
    );
    expect(asked).toEqual([
      { at: 0, signatures: ['first'] },
      { at: 1_000, signatures: many },
    ]);
  });

  it('waits no longer than the second lasts, and not for a clock that was set back', async () => {
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

  it('asks for at most 256 statuses in a request', async () => {
    const { ask, asked } = batching();
    const many = Array.from({ length: 600 }, (_, index) => 'x'.repeat(index));
    expect(await Promise.all(many.map((signature) => ask(signature, until)))).toEqual(
      many.map(statusOf),
    );
    expect(asked.map(({ signatures }) => signatures.length).sort()).toEqual([256, 256, 88]);
  });

  it('fails for all its calls, and for no other call', async () => {
    const { ask, fail } = batching();
    fail(new Error('no node answers'));
    const both = await Promise.allSettled([ask('a', until), ask('b', until)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    fail(undefined);
    expect(await ask('a', until)).toEqual(statusOf('a'));
  });

  it('continues for the callers that stay, and is skipped when all callers abort', async () => {
    const { ask, asked } = batching();
    const aborting = new AbortController();
    const aborted = ask('a', aborting.signal);
    const kept = ask('bb', until);
    aborting.abort(new Error('gone'));
    await expect(aborted).rejects.toThrow('gone');
    expect(await kept).toEqual(statusOf('bb'));
    await expect(ask('c', aborting.signal)).rejects.toThrow('gone');
    expect(asked).toHaveLength(1);
  });
});
