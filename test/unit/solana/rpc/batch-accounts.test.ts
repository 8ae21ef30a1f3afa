import { describe, expect, it } from 'vitest';
import { systemRuntime } from '../../../../src/internal/runtime.js';
import { batchAccounts } from '../../../../src/solana/rpc/batch-accounts.js';
import type { Account, CallOptions, Rpc } from '../../../../src/solana/rpc/rpc.js';

interface Asked {
  readonly addresses: readonly string[];
  readonly options: CallOptions | undefined;
}

/** An account with its address as the owner. Odd addresses have no account. */
const accountOf = (address: string): Account | null =>
  Number(address) % 2 === 1
    ? null
    : { owner: address, lamports: BigInt(address), data: new Uint8Array(0), executable: false };

function batching(answer?: () => ReturnType<Rpc['accounts']>) {
  const asked: Asked[] = [];
  const accounts: Rpc['accounts'] = async (addresses, options) => {
    asked.push({ addresses, options });
    return answer?.() ?? { slot: 100 + asked.length, accounts: addresses.map(accountOf) };
  };
  return { asked, read: batchAccounts({ accounts }, systemRuntime) };
}

const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => String(from + index));

describe('a batch of account reads in the same turn', () => {
  it('reads each address once, and gives each caller its own accounts', async () => {
    const { asked, read } = batching();
    const [first, second, none] = await Promise.all([
      read(['2', '3', '4']),
      read(['4', '6', '2', '4']),
      read([]),
    ]);
    expect(first).toEqual({ slot: 101, accounts: ['2', '3', '4'].map(accountOf) });
    expect(second).toEqual({ slot: 101, accounts: ['4', '6', '2', '4'].map(accountOf) });
    expect(none).toEqual({ slot: 101, accounts: [] });
    expect(asked.map(({ addresses }) => addresses)).toEqual([['2', '3', '4', '6']]);
  });

  it('does not include a read in the next turn', async () => {
    const { asked, read } = batching();
    expect((await read(['2'])).slot).toBe(101);
    expect((await read(['2'])).slot).toBe(102);
    expect(asked).toHaveLength(2);
  });

  it('requests at most 100 accounts unless a call has more, and reads each call at a single slot', async () => {
    const { asked, read } = batching();
    const answers = await Promise.all([
      read(range(1, 60)),
      read(range(31, 100)),
      read(range(101, 150)),
      read(range(1, 100)),
      read(range(1, 101)),
    ]);
    expect(asked.map(({ addresses }) => addresses.length).sort((a, b) => a - b)).toEqual([
      50, 100, 100, 101,
    ]);
    expect(answers.map(({ accounts }) => accounts.length)).toEqual([60, 70, 50, 100, 101]);
    expect(answers[1]).toEqual({ slot: answers[0].slot, accounts: range(31, 100).map(accountOf) });
  });

  it('does not include a read with a minimum slot', async () => {
    const { asked, read } = batching();
    await Promise.all([read(['2'], { minContextSlot: 7 }), read(['4'])]);
    expect(asked.map(({ addresses, options }) => [addresses, options?.minContextSlot])).toEqual([
      [['2'], 7],
      [['4'], undefined],
    ]);
  });

  it('fails for all its calls, and for no other call', async () => {
    const failure = new Error('no node answers');
    let fails = true;
    const { read } = batching(() => {
      if (fails) throw failure;
      return Promise.resolve({ slot: 5, accounts: [null] });
    });
    const calls = [read(['2']), read(['4'])];
    for (const call of calls) await expect(call).rejects.toBe(failure);
    fails = false;
    expect(await read(['2'])).toEqual({ slot: 5, accounts: [null] });
  });

  it('continues for the callers that stay, and is skipped when all callers abort', async () => {
    const { asked, read } = batching();
    const [hasty, patient] = [new AbortController(), new AbortController()];
    const [left, stayed] = [
      read(['2'], { signal: hasty.signal }),
      read(['4'], { signal: patient.signal }),
    ];
    hasty.abort(new Error('enough'));
    await expect(left).rejects.toThrow('enough');
    expect((await stayed).accounts).toEqual([accountOf('4')]);
    expect(asked).toHaveLength(1);

    const alone = new AbortController();
    const aborted = read(['6'], { signal: alone.signal });
    alone.abort(new Error('gone'));
    await expect(aborted).rejects.toThrow('gone');
    expect((await read(['8'])).accounts).toEqual([accountOf('8')]);
    expect(asked.map(({ addresses }) => addresses)).toEqual([['2', '4'], ['8']]);
    await expect(read(['2'], { signal: alone.signal })).rejects.toThrow('gone');
  });

  it('is aborted when the last caller that waits aborts', async () => {
    let begun = (): void => undefined;
    const began = new Promise<void>((resolve) => (begun = resolve));
    const { asked, read } = batching(() => (begun(), new Promise(() => undefined)));
    const caller = new AbortController();
    const call = read(['2'], { signal: caller.signal });
    await began;
    const reason = new Error('gone');
    caller.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(asked[0]?.options?.signal?.reason).toBe(reason);
  });
});
