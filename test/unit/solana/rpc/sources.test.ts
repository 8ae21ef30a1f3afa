import { describe, expect, it } from 'vitest';
import { TOKEN_PROGRAM } from '../../../../src/network.js';
import { LOOKUP_TABLE_PROGRAM } from '../../../../src/solana/programs.js';
import { systemRuntime, type Runtime } from '../../../../src/internal/runtime.js';
import { addressBytes, addressOf } from '../../../../src/solana/address.js';
import { createBlockhashSource } from '../../../../src/solana/rpc/blockhash.js';
import { estimateComputeUnitPrice } from '../../../../src/swaps/transaction/read-market.js';
import type { Account, CallOptions } from '../../../../src/solana/rpc/rpc.js';
import { readTables } from '../../../../src/solana/transactions/tables.js';
import { rpcWith } from './rpc-with.js';

const key = (seed: number) =>
  addressOf(
    Uint8Array.from({ length: 32 }, (_, index) =>
      index === 0 ? seed & 255 : index === 1 ? seed >> 8 : 7,
    ),
  );

describe('createBlockhashSource', () => {
  function source() {
    let now = 0;
    const runtime: Runtime = { ...systemRuntime, now: () => now };
    const asked: (CallOptions | undefined)[] = [];
    const answers: { resolve: (slot: number) => void; reject: (error: Error) => void }[] = [];
    const rpc = rpcWith({
      latestBlockhash: (options) => {
        asked.push(options);
        return new Promise((resolve, reject) => {
          answers.push({
            resolve: (slot) =>
              resolve({ blockhash: key(slot), lastValidBlockHeight: BigInt(slot), slot }),
            reject,
          });
        });
      },
    });
    return {
      blockhashes: createBlockhashSource(rpc, runtime),
      asked,
      answers,
      advance: (ms: number) => (now += ms),
    };
  }

  /** A source that saw 400 ms per slot, and just requested a blockhash of slot 10. */
  async function paced(slots = 10) {
    const made = source();
    const { blockhashes, answers, advance } = made;
    const first = blockhashes.fresh();
    answers[0]?.resolve(0);
    await first;
    advance(4_000);
    const second = blockhashes.fresh();
    answers[1]?.resolve(slots);
    await second;
    return made;
  }

  it('sends a single request for callers at the same time, and none while the blockhash is fresh', async () => {
    const { blockhashes, asked, answers, advance } = source();
    const both = Promise.all([blockhashes.fresh(), blockhashes.fresh()]);
    answers[0]?.resolve(5);
    expect((await both).map((found) => found.slot)).toEqual([5, 5]);
    advance(1_999);
    expect(await blockhashes.fresh()).toEqual({
      blockhash: key(5),
      lastValidBlockHeight: 5n,
      slot: 5,
    });
    expect(asked).toHaveLength(1);
    advance(1);
    const next = blockhashes.fresh();
    answers[1]?.resolve(6);
    expect((await next).slot).toBe(6);
  });

  it('counts the age of a blockhash from the request', async () => {
    const { blockhashes, asked, answers, advance } = source();
    const slow = blockhashes.fresh();
    advance(2_000);
    answers[0]?.resolve(5);
    await slow;
    void blockhashes.fresh();
    expect(asked).toHaveLength(2);
  });

  it('sends a single further request for all callers after a reply that came too late', async () => {
    const { blockhashes, asked, answers, advance } = source();
    const first = blockhashes.fresh();
    const waiting = Array.from({ length: 1_000 }, () => blockhashes.fresh());
    advance(2_000);
    answers[0]?.resolve(5);
    await first;
    await expect.poll(() => asked.length).toBeGreaterThan(1);
    advance(2_000);
    answers[1]?.resolve(6);
    expect(new Set((await Promise.all(waiting)).map(({ slot }) => slot))).toEqual(new Set([6]));
    expect(asked).toHaveLength(2);
  });

  it('returns a recent blockhash at once, and fetches the next in the background', async () => {
    const { blockhashes, asked, answers, advance } = await paced();
    advance(1_999);
    expect((await blockhashes.recent()).slot).toBe(10);
    expect(asked).toHaveLength(2);
    advance(13_000);
    expect((await blockhashes.recent()).slot).toBe(10);
    expect((await blockhashes.recent()).slot).toBe(10);
    expect(asked).toHaveLength(3);
    answers[2]?.resolve(48);
    await new Promise(setImmediate);
    expect((await blockhashes.recent()).slot).toBe(48);
    expect(asked).toHaveLength(3);
  });

  it.each([
    { what: '15 s', slots: 10, ms: 15_000 },
    { what: '2 s, from a node that did not advance', slots: 0, ms: 2_000 },
    { what: '40 slots', slots: 40, ms: 4_000 },
    { what: '2 s, on a chain of any speed', slots: 4_000, ms: 2_000 },
  ])('returns no recent blockhash that is older than $what', async ({ slots, ms }) => {
    const { blockhashes, asked, answers, advance } = await paced(slots);
    advance(ms - 1);
    expect((await blockhashes.recent()).slot).toBe(slots);
    // The background request fails, and no caller sees the failure.
    answers[2]?.reject(new Error('down'));
    await new Promise(setImmediate);
    advance(1);
    const next = blockhashes.recent();
    answers[asked.length - 1]?.resolve(5_000);
    expect((await next).slot).toBe(5_000);
  });

  it('returns a first blockhash as recent only while it is fresh, and none after the clock went back', async () => {
    const { blockhashes, asked, answers, advance } = source();
    const first = blockhashes.recent();
    answers[0]?.resolve(1);
    await first;
    advance(2_000);
    const second = blockhashes.recent();
    answers[1]?.resolve(6);
    expect((await second).slot).toBe(6);
    advance(-1);
    void blockhashes.recent();
    expect(asked).toHaveLength(3);
  });

  it('requests again for a later slot, and after a failure', async () => {
    const { blockhashes, asked, answers, advance } = source();
    const first = blockhashes.fresh();
    answers[0]?.resolve(5);
    await first;
    const later = blockhashes.fresh({ minContextSlot: 6 });
    answers[1]?.resolve(7);
    expect((await later).slot).toBe(7);
    expect(asked[1]).toMatchObject({ minContextSlot: 6 });
    advance(2_000);
    const failing = blockhashes.fresh();
    answers[2]?.reject(new Error('down'));
    await expect(failing).rejects.toThrow('down');
    const again = blockhashes.fresh();
    answers[3]?.resolve(8);
    expect((await again).slot).toBe(8);
  });

  it('does not keep an early reply after a request for a later slot began', async () => {
    const { blockhashes, answers, asked } = source();
    const early = blockhashes.fresh();
    const late = blockhashes.fresh({ minContextSlot: 6 });
    answers[0]?.resolve(5);
    expect((await early).slot).toBe(5);
    await expect.poll(() => asked).toHaveLength(2);
    answers[1]?.resolve(6);
    expect((await late).slot).toBe(6);
    expect((await blockhashes.fresh()).slot).toBe(6);
    expect(asked).toHaveLength(2);
  });

  it('lets a caller abort without ending the request of other callers', async () => {
    const { blockhashes, answers, asked } = source();
    const controller = new AbortController();
    const hasty = blockhashes.fresh({ signal: controller.signal });
    const patient = blockhashes.fresh();
    controller.abort('enough');
    await expect(hasty).rejects.toBe('enough');
    answers[0]?.resolve(5);
    expect((await patient).slot).toBe(5);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.signal).toBeUndefined();
    await expect(blockhashes.fresh({ signal: AbortSignal.abort('before') })).rejects.toBe('before');
  });

  it('never returns a blockhash again after the chain outlived it', async () => {
    const { blockhashes, answers, asked } = source();
    const first = blockhashes.recent();
    answers[0]?.resolve(5);
    expect((await first).slot).toBe(5);
    blockhashes.expire(key(4));
    expect((await blockhashes.recent()).slot).toBe(5);
    blockhashes.expire(key(5));
    const next = blockhashes.recent();
    answers[1]?.resolve(400);
    expect((await next).slot).toBe(400);
    expect(asked).toHaveLength(2);
  });
});

describe('estimateComputeUnitPrice', () => {
  const price = (fees: bigint[]) =>
    estimateComputeUnitPrice(rpcWith({ priorityFees: () => Promise.resolve(fees) }), [key(1)]);

  it('returns the 75th percentile, and at least 1', async () => {
    expect(await price([])).toBe(1n);
    expect(await price([0n, 0n, 0n])).toBe(1n);
    expect(await price([8n])).toBe(8n);
    expect(await price([100n, 1n, 3n, 2n])).toBe(3n);
    expect(await price([2n ** 63n, 2n ** 62n])).toBe(2n ** 63n);
  });

  it('asks about at most 128 accounts', async () => {
    let asked = 0;
    const rpc = rpcWith({
      priorityFees: (accounts) => {
        asked = accounts.length;
        return Promise.resolve([]);
      },
    });
    await estimateComputeUnitPrice(
      rpc,
      Array.from({ length: 300 }, (_, index) => key(index)),
    );
    expect(asked).toBe(128);
  });
});

describe('readTables', () => {
  const SLOT = 100;
  function tableAccount(
    change: {
      count?: number;
      extendedAt?: bigint;
      from?: number;
      deactivated?: bigint;
      state?: number;
      owner?: string;
      extra?: number;
    } = {},
  ): Account {
    const {
      count = 3,
      extendedAt = 50n,
      from = 0,
      deactivated = 2n ** 64n - 1n,
      state = 1,
      owner = LOOKUP_TABLE_PROGRAM,
      extra = 0,
    } = change;
    const data = new Uint8Array(56 + 32 * count + extra);
    const view = new DataView(data.buffer);
    view.setUint32(0, state, true);
    view.setBigUint64(4, deactivated, true);
    view.setBigUint64(12, extendedAt, true);
    view.setUint8(20, from);
    for (let index = 0; index < count; index += 1)
      data.set(addressBytes(key(100 + index)), 56 + 32 * index);
    return { owner, lamports: 1n, data, executable: false };
  }
  function node(accounts: Record<string, Account | null>) {
    const asked: (readonly string[])[] = [];
    const rpc = rpcWith({
      accounts: (addresses) => {
        asked.push(addresses);
        return Promise.resolve({
          slot: SLOT,
          accounts: addresses.map((address) => accounts[address] ?? null),
        });
      },
    });
    return { rpc, asked };
  }

  it('returns tables in the order of the request, and reads them once in five minutes', async () => {
    const { rpc, asked } = node({ [key(1)]: tableAccount(), [key(2)]: tableAccount({ count: 1 }) });
    let now = 0;
    const fetch = (...addresses: string[]) => readTables(rpc, addresses, {}, () => now);
    expect(await fetch(key(2), key(1))).toEqual([
      { address: key(2), state: 'active', addresses: [key(100)] },
      { address: key(1), state: 'active', addresses: [key(100), key(101), key(102)] },
    ]);
    now = 299_999;
    expect((await fetch(key(1))).map((table) => table.address)).toEqual([key(1)]);
    expect(await fetch()).toEqual([]);
    expect(asked).toEqual([[key(2), key(1)]]);
    now = 300_000;
    await fetch(key(1));
    expect(asked).toHaveLength(2);
  });

  it('omits addresses that were added in the current slot', async () => {
    const { rpc } = node({
      [key(1)]: tableAccount({ extendedAt: BigInt(SLOT), from: 2 }),
      [key(2)]: tableAccount({ extendedAt: BigInt(SLOT) - 1n, from: 2 }),
    });
    const [growing, grown] = await readTables(rpc, [key(1), key(2)]);
    expect(growing?.addresses).toHaveLength(2);
    expect(grown?.addresses).toHaveLength(3);
  });

  it.each<[string, string, Account | null]>([
    ['a missing account', 'none', null],
    ['an account of another owner', 'none', tableAccount({ owner: TOKEN_PROGRAM })],
    ['a deactivated table', 'inactive', tableAccount({ deactivated: 5n })],
    ['an uninitialised table', 'none', tableAccount({ state: 0 })],
    ['a table of odd length', 'none', tableAccount({ extra: 1 })],
    ['a table that is too short', 'none', { ...tableAccount(), data: new Uint8Array(20) }],
    ['a table that is too long', 'none', tableAccount({ count: 257 })],
    ['an empty table', 'active', tableAccount({ count: 0 })],
    ['a table that was filled in this slot', 'active', tableAccount({ extendedAt: BigInt(SLOT) })],
  ])(
    'returns no address from %s, with the state %s, and reads it again unless it is active',
    async (_, state, account) => {
      const { rpc, asked } = node({ [key(1)]: account });
      expect(await readTables(rpc, [key(1)])).toEqual([{ address: key(1), state, addresses: [] }]);
      await readTables(rpc, [key(1)]);
      expect(asked).toHaveLength(state === 'active' ? 1 : 2);
    },
  );

  it('reads tables again when they must be fresh', async () => {
    const { rpc, asked } = node({ [key(1)]: tableAccount() });
    await readTables(rpc, [key(1)]);
    await readTables(rpc, [key(1)], { fresh: true });
    expect(asked).toHaveLength(2);
  });
});
