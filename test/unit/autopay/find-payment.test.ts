import { describe, expect, it } from 'vitest';
import { findPayment } from '../../../src/autopay/find-payment.js';
import type { SignedPayment } from '../../../src/journal/types.js';
import { fakeRpc, OURS, payment, refused, type FakeNode, type FakeTransaction } from './fake-chain.js';

const never = new AbortController().signal;
const ask = (nodes: readonly FakeNode[], part: Partial<SignedPayment> = {}, claim?: string, seen = new Set<string>()) =>
  findPayment(fakeRpc(nodes), payment(part), claim, seen, never);

/** Past the last height, with all of its history. */
const past = (history: Readonly<Record<string, FakeTransaction>> = {}, more: Partial<FakeNode> = {}): FakeNode => ({
  slot: 2_000,
  height: 501n,
  history,
  ...more,
});
const settles: FakeTransaction = { slot: 1_010, memo: '[5] nonce', signed: { signatures: ['tx', OURS] } };
const settled = { state: 'settled', signature: 'tx', slot: 1_010 };
const unsettled = { state: 'unsettled' };
const open = { state: 'open' };
const CLAIM = '5'.repeat(88);

describe('a payment that settled', () => {
  it('is found by our signature', async () => {
    expect(await ask([past({ other: { slot: 1_020 }, tx: settles })])).toEqual(settled);
  });

  it.each([null, ''])('is found where the node tells the memo as %j', async (memo) => {
    expect(await ask([past({ tx: { ...settles, memo } })])).toEqual(settled);
  });

  it('is found behind more than a page of others', async () => {
    const dust = Object.fromEntries(Array.from({ length: 2_500 }, (_, index) => [`dust${index}`, { slot: 1_500, memo: 'other' }]));
    expect(await ask([past({ ...dust, tx: settles })])).toEqual(settled);
  });

  it('is found by the second node where the first has not seen it', async () => {
    const behind = { slot: 900, height: 400n };
    expect(await ask([behind, past({ tx: settles })])).toEqual(settled);
    expect(await ask([past({}, { down: true }), past({ tx: settles })])).toEqual(settled);
  });

  it('is found though the claim of the seller cannot be read', async () => {
    const unreadable = { [CLAIM]: { slot: 1, signed: refused() } };
    expect(await ask([past({ tx: settles, ...unreadable })], {}, CLAIM)).toEqual(settled);
  });

  it('is found though other transactions cannot be read', async () => {
    const others = { a: { slot: 1_020, signed: refused() }, b: { slot: 1_019, signed: null } };
    expect(await ask([past({ ...others, tx: settles })])).toEqual(settled);
  });
});

describe('a payment that never can settle', () => {
  it('is one that is past, and in no history', async () => {
    expect(await ask([past({ other: { slot: 1_020 }, older: { slot: 900 } })])).toEqual(unsettled);
    expect(await ask([past()])).toEqual(unsettled);
  });

  it('is one that landed and failed', async () => {
    const failed = { ...settles, signed: { signatures: ['tx', OURS], error: '"X"' } };
    expect(await ask([{ ...past({ tx: failed }), height: 1n }])).toEqual(unsettled);
  });

  it('may share its account with transactions of a version that ours is not', async () => {
    const seen = new Set<string>();
    expect(await ask([past({ newer: { slot: 1_020, signed: 'newer' } })], {}, undefined, seen)).toEqual(unsettled);
    expect([...seen]).toEqual(['newer']);
  });

  it('needs no first slot from a node that shows what is older', async () => {
    expect(await ask([past({ older: { slot: 999 } }, { firstSlot: refused() })])).toEqual(unsettled);
  });
});

describe('a payment stays open', () => {
  it.each<[string, readonly FakeNode[]]>([
    ['at its last height', [past({}, { height: 500n })]],
    ['while a transaction is listed that the node does not give', [past({ tx: { ...settles, signed: null } })]],
    ['while a transaction is listed that the node gives an error for', [past({ tx: { ...settles, signed: refused() } })]],
    ['where history begins after it', [past({}, { firstSlot: 1_001 })]],
    ['where history begins after it, whatever is listed', [past({ older: { slot: 999 } }, { firstSlot: 1_001 })]],
    ['where nobody says where history begins', [past({}, { firstSlot: refused() })]],
    ['where one node has the height and another, behind, the list', [past({}, { down: true }), { slot: 900, height: 400n }]],
    ['where the second node is behind and careless', [past({}, { firstSlot: refused() }), { slot: 900, height: 400n, careless: true }]],
  ])('%s', async (_, nodes) => {
    expect(await ask(nodes)).toEqual(open);
  });

  it('while its account has more transactions than can be looked through', async () => {
    const list = Array.from({ length: 1_000 }, () => ({ signature: 'dust', slot: 1_500, error: null, memo: 'other' }));
    const rpc = fakeRpc([past()]);
    const deaf = { ...rpc, signaturesFor: () => Promise.resolve(list) };
    expect(await findPayment({ ...deaf, alone: () => [deaf] }, payment(), undefined, new Set(), never)).toEqual(open);
  });

  it('where the height comes from one node and the list from a load balancer that goes to another', async () => {
    const ahead = past({ tx: settles });
    const behind = { slot: 900, height: 400n };
    const [search] = [fakeRpc([behind])];
    const balanced = { ...fakeRpc([ahead]), signaturesFor: search.signaturesFor };
    await expect(findPayment({ ...balanced, alone: () => [balanced] }, payment(), undefined, new Set(), never)).rejects.toMatchObject({
      code: 'rpc_unavailable',
    });
  });
});

describe('the search', () => {
  it('looks at each transaction once, and only at those that it could be', async () => {
    const seen = new Set<string>();
    const history = { a: { slot: 1_020 }, b: { slot: 1_019, memo: '[3] not' }, c: { slot: 999 } };
    const rpc = fakeRpc([past(history, { height: 1n })]);
    await findPayment(rpc, payment(), undefined, seen, never);
    await findPayment(rpc, payment(), undefined, seen, never);
    expect(rpc.asked).toEqual(['tip', 'signaturesFor', 'signed', 'tip', 'signaturesFor']);
  });

  it('leaves a node alone that gives none of its transactions', async () => {
    const list = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`t${index}`, { slot: 1_500, signed: null }]));
    const rpc = fakeRpc([past(list)]);
    expect(await findPayment(rpc, payment(), undefined, new Set(), never)).toEqual(open);
    expect(rpc.asked.filter((name) => name === 'signed')).toHaveLength(5);
  });

  it('rejects where no node answers, and with the reason once it is called off', async () => {
    await expect(ask([past({}, { down: true }), past({}, { down: true })])).rejects.toMatchObject({ code: 'rpc_unavailable' });
    const gone = new AbortController();
    const rpc = fakeRpc([past()]);
    const stopping = {
      ...rpc,
      tip: () => {
        gone.abort(new Error('closed'));
        return Promise.reject(new Error('closed'));
      },
    };
    const both = { ...rpc, alone: () => [stopping, rpc] };
    await expect(findPayment(both, payment(), undefined, new Set(), gone.signal)).rejects.toThrow('closed');
    expect(rpc.asked).toEqual([]);
  });
});
