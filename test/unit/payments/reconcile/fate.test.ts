import { describe, expect, it } from 'vitest';
import { createHistories } from '../../../../src/payments/reconcile/histories.js';
import type { ClaimedId } from '../../../../src/payments/reconcile/claim.js';
import { fateOf, sentPayment, type Fate } from '../../../../src/payments/reconcile/fate.js';
import { sentSwap } from '../../../../src/payments/reconcile/swap-end.js';
import type { SignedPayment } from '../../../../src/journal/types.js';
import { WSOL_MINT } from '../../../../src/network.js';
import type { Rpc } from '../../../../src/solana/rpc/rpc.js';
import {
  fakeRpc,
  OURS,
  payment,
  refused,
  START,
  type FakeNode,
  type FakeTransaction,
} from './fake-chain.js';

const until = new AbortController().signal;
const claims = (id: string, isProven = true) => ({ id, isProven: async () => isProven });
const sent = (part: Partial<SignedPayment> = {}, claim?: ClaimedId) =>
  sentPayment({ mint: 'mint' }, payment(part), claim);
/** Histories with a clock that moves more than a slot between two looks. */
const historiesOf = (rpc: Pick<Rpc, 'perNode'>) => {
  let now = 0;
  return createHistories(rpc, { now: () => (now += 1_000), sleep: () => Promise.resolve() });
};
const ask = (
  nodes: readonly FakeNode[],
  part: Partial<SignedPayment> = {},
  claim?: ClaimedId,
): Promise<Fate> => fateOf(historiesOf(fakeRpc(nodes)), sent(part, claim), until);

/** A node past the last height of the payment, with its whole history. */
const past = (
  history: Readonly<Record<string, FakeTransaction>> = {},
  more: Partial<FakeNode> = {},
): FakeNode => ({
  slot: 2_000,
  height: 501n,
  history,
  ...more,
});
const settles: FakeTransaction = {
  slot: 1_010,
  memo: '[5] nonce',
  signatures: ['tx', OURS],
  change: -40n,
};
const landed = { state: 'landed', signature: 'tx', slot: 1_010, error: null };
const never = { state: 'never' };
const open = { state: 'open' };
const dust = (count: number, memo: string | null, change = 1n) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`dust${index}`, { slot: 1_500, memo, change }]),
  );

describe('a payment that landed', () => {
  it('is found by the signature of its payer', async () => {
    expect(await ask([past({ other: { slot: 1_020 }, tx: settles })])).toEqual(landed);
  });

  it.each([null, ''])('is found when the node shows the memo %j', async (memo) => {
    expect(await ask([past({ tx: { ...settles, memo } })])).toEqual(landed);
  });

  it('is found in a slot before the slot that a node gave when it was signed', async () => {
    expect(await ask([past({ tx: { ...settles, slot: 995 } })])).toEqual({ ...landed, slot: 995 });
  });

  it('is found behind more than a page of other transactions', async () => {
    expect(await ask([past({ ...dust(2_500, 'other'), tx: settles })])).toEqual(landed);
  });

  it('is found by the second node when the first node has not seen it', async () => {
    const behind = { slot: 900, height: 400n };
    expect(await ask([behind, past({ tx: settles })])).toEqual(landed);
    expect(await ask([past({}, { down: true }), past({ tx: settles })])).toEqual(landed);
  });

  it('is found by its id alone, with a single request for several accounts', async () => {
    const rpc = fakeRpc([past({ a: settles, b: { ...settles, slot: 1_011 } })]);
    const histories = historiesOf(rpc);
    const look = (claim: string, source: string) =>
      fateOf(histories, sent({ source }, claims(claim)), until);
    expect(await Promise.all([look('a', 'source'), look('b', 'second')])).toEqual([
      { ...landed, signature: 'a' },
      { ...landed, signature: 'b', slot: 1_011 },
    ]);
    expect(rpc.asked).toEqual(['statuses']);
  });

  it.each<[string, Partial<FakeTransaction>]>([
    ['refuses', { status: refused() }],
    ['shows as failed', { error: '"X"' }],
    ['has not confirmed', { status: 'processed' }],
  ])('is searched for when the node %s the transaction of the claimed id', async (_, part) => {
    const id = { id: { slot: 1_500, memo: 'other', ...part } };
    expect(await ask([past({ ...id, tx: settles })], {}, claims('id'))).toEqual(landed);
    expect(await ask([past({ tx: settles })], {}, claims('unknown'))).toEqual(landed);
  });

  it('is searched for when nothing proves that the claimed id belongs to it', async () => {
    const other = { id: { ...settles, slot: 1_500, memo: 'other' } };
    expect(await ask([past(other)], {}, claims('id', false))).toEqual({ state: 'open' });
    expect(await ask([past({ ...other, tx: settles })], {}, claims('id', false))).toEqual(landed);
  });

  it('is found when other transactions cannot be read', async () => {
    const unreadable = { a: { slot: 1_020, read: refused() }, b: { slot: 1_019, read: null } };
    expect(await ask([past({ ...unreadable, tx: settles })])).toEqual(landed);
  });

  it('is found by the balance when the node lists it with a wrong memo', async () => {
    expect(
      await ask([
        past({ other: { slot: 1_020, memo: 'told' }, tx: { ...settles, memo: 'another' } }),
      ]),
    ).toEqual(landed);
  });

  it('is found behind an older entry with a slot that is too early', async () => {
    expect(
      await ask([past({ other: { slot: 1_020, listed: 5 }, tx: settles, base: { slot: 900 } })]),
    ).toEqual(landed);
  });

  it('is found with its error when it failed, also before its last height', async () => {
    const failed = { ...settles, error: '"X"', change: 0n };
    expect(await ask([{ ...past({ tx: failed }), height: 1n }])).toEqual({
      ...landed,
      error: '"X"',
    });
  });

  it('counts as failed only when the failure is final, because it may land again after a fork', async () => {
    const node = {
      ...past({ tx: { ...settles, error: '"X"', change: 0n } }),
      slot: 1_009,
      height: 1n,
    };
    const histories = historiesOf(fakeRpc([node]));
    const look = () => fateOf(histories, sent(), until);
    expect(await look()).toEqual(open);
    Object.assign(node, past({ tx: { ...settles, slot: 1_030 } }), { slot: 1_031, height: 1n });
    // The transaction that was read is of another slot, so it is read again.
    expect([await look(), await look()]).toEqual([open, { ...landed, slot: 1_030 }]);
  });
});

describe('a payment that can never land', () => {
  it('is past its last height, in no history, and missing from no balance', async () => {
    expect(await ask([past({ other: { slot: 1_020 }, older: { slot: 900 } })])).toEqual(never);
    expect(await ask([past()])).toEqual(never);
  });

  it.each<[string, Readonly<Record<string, FakeTransaction>>]>([
    ['another payment of the wallet', { other: { slot: 1_020, memo: 'another', change: -40n } }],
    [
      'a payment and an incoming transfer',
      { other: { slot: 1_020, change: -90n }, more: { slot: 1_015, change: 70n } },
    ],
    ['a transaction of a newer version', { newer: { slot: 1_020, read: 'newer' } }],
    ['a transaction that failed', { failed: { slot: 1_020, error: '"X"', change: -40n } }],
  ])('is decided when its account also has %s', async (_, history) => {
    expect(await ask([past(history)])).toEqual(never);
  });

  it('is decided when its account was read in the middle of a slot', async () => {
    const sameSlot = { other: { slot: 990, change: -10n } };
    expect(await ask([past(sameSlot)])).toEqual(never);
    expect(await ask([past(sameSlot, { held: 89n })])).toEqual(open);
    expect(await ask([past(sameSlot)], { before: { amount: '90', slot: 990 } })).toEqual(never);
    expect(
      await ask([past(sameSlot, { held: 89n })], { before: { amount: '90', slot: 990 } }),
    ).toEqual(open);
  });

  it('is decided without a first slot when the node shows older transactions', async () => {
    expect(await ask([past({ older: { slot: 999 } }, { firstSlot: refused() })])).toEqual(never);
  });

  it('is decided by the last transaction before it when the earlier balance was read on a fork', async () => {
    // After the transaction in slot 995 the account held its present amount.
    const history = { base: { slot: 995, change: -10n } };
    const before = { amount: '1000', slot: 996 };
    expect(await ask([past(history)], { before })).toEqual(never);
    // While the index is behind, another transaction may have come in between.
    expect(await ask([past(history, { indexed: 1_999 })], { before })).toEqual(open);
    const { before: _unread, ...unread } = payment();
    const rpc = fakeRpc([past(history)]);
    expect(await fateOf(historiesOf(rpc), sentPayment({ mint: 'mint' }, unread), until)).toEqual(
      never,
    );
  });

  it('is decided after the longest lag of an index when no busy account shows the lag', async () => {
    expect(await ask([past({}, { indexed: 'no votes', height: 2_751n })])).toEqual(never);
    expect(await ask([past({}, { indexed: 'refused', height: 2_751n })])).toEqual(never);
    for (const indexed of ['no votes', 'refused'] as const)
      expect(await ask([past({}, { indexed, height: 2_750n })])).toEqual(open);
  });

  it('is decided by the whole history of its account when the earlier balance was read on a fork', async () => {
    const history = { swap: { slot: 1_005, change: 40n } };
    // The swap landed before that reading, and landed again after it.
    const before = { amount: '40', slot: 1_003 };
    expect(await ask([past(history, { held: 40n })], { before })).toEqual(never);
    expect(await ask([past(history, { held: 0n })], { before })).toEqual(open);
  });

  it('is decided by a transaction before its account existed, if the node shows token balances', async () => {
    const { before: _unread, ...unread } = payment();
    const failed = { slot: 900, error: '"X"' };
    const about = (tokens: FakeTransaction['tokens'], held: bigint) =>
      past(
        { swap: { slot: 1_005, change: 40n }, failed: { ...failed, ...(tokens && { tokens }) } },
        { held },
      );
    const fate = (node: FakeNode) =>
      fateOf(historiesOf(fakeRpc([node])), sentPayment({ mint: 'mint' }, unread), until);
    expect(await fate(about('absent', 40n))).toEqual(never);
    expect(await fate(about('absent', 0n))).toEqual(open);
    expect(await fate(about('untold', 40n))).toEqual(open);
  });

  it('is decided under thousands of dust transfers when enough of them were read', async () => {
    expect(await ask([past(dust(1_500, 'other'))])).toEqual(never);
  });
});

describe('a node that gave a wrong number in a transaction', () => {
  it.each<[string, (wrong: boolean) => FakeTransaction]>([
    ['the slot', (wrong) => ({ slot: wrong ? 1_021 : 1_020, listed: 1_020, change: -40n })],
    [
      'the change of the balance',
      (wrong) => ({ slot: 1_020, change: -40n, kept: wrong ? -41n : -40n }),
    ],
  ])('is asked again when the wrong number was %s', async (_, other) => {
    let wrong = true;
    const rpc = fakeRpc([
      {
        ...past(),
        get history() {
          return { other: other(wrong) };
        },
      },
    ]);
    const histories = historiesOf(rpc);
    expect(await fateOf(histories, sent(), until)).toEqual(open);
    wrong = false;
    expect(await fateOf(histories, sent(), until)).toEqual(never);
  });
});

describe('a payment that is not decided', () => {
  it.each<[string, readonly FakeNode[]]>([
    ['at its last height', [past({}, { height: 500n })]],
    ['while a listed transaction is not given', [past({ tx: { ...settles, read: null } })]],
    [
      'while a listed transaction is answered with an error',
      [past({ tx: { ...settles, read: refused() } })],
    ],
    ['when the history begins after it', [past({}, { firstSlot: 1_001 })]],
    [
      'when the history begins after it, whatever is listed',
      [past({ older: { slot: 999 } }, { firstSlot: 1_001 })],
    ],
    ['when no node says where the history begins', [past({}, { firstSlot: refused() })]],
    [
      'when a node has the height and another node, behind, has the list',
      [past({}, { down: true }), { slot: 900, height: 400n }],
    ],
    [
      'when the second node is behind and ignores the least slot',
      [past({}, { firstSlot: refused() }), { slot: 900, height: 400n, careless: true }],
    ],
    // A single honest node with an address index behind its tip: the payment has landed.
    ['when the history does not explain what the balance lacks', [past({}, { held: START - 40n })]],
    [
      'when the balance lacks more than the history explains',
      [past({ other: { slot: 1_020, change: -5n } }, { held: START - 45n })],
    ],
    [
      'when an incoming transfer in the history would hide it',
      [past({ deposit: { slot: 1_020, change: 40n } }, { held: START })],
    ],
    // The index also lacks an incoming transfer of the same amount.
    [
      'while the index of addresses is behind, whatever the balance',
      [past({}, { indexed: 1_999 })],
    ],
    ['while one of two indexes is behind', [past(), past({}, { indexed: 1_000 })]],
    [
      'for a long time if no busy account shows how far the index is',
      [past({}, { indexed: 'no votes', height: 2_750n })],
    ],
    [
      'for a long time if a node refuses to list busy accounts',
      [past({}, { indexed: 'refused', height: 2_750n })],
    ],
    [
      'while a listed transaction has two slots',
      [past({ other: { slot: 1_020, change: -40n, listed: 1_021 } })],
    ],
    [
      'when only the first of two nodes reports it as failed',
      [past({ tx: { ...settles, error: '"X"', change: 0n } }), past({}, { height: 1n })],
    ],
    [
      'when it is reported as failed but its tokens left',
      [past({ tx: { ...settles, error: '"X"', change: 0n, kept: -40n } })],
    ],
    // The first of two nodes gave a last height that is 400 too low.
    [
      'while its blockhash is valid for the nodes, whatever their height',
      [past({}, { valid: true }), past({}, { valid: true })],
    ],
    ['while its blockhash is valid for one of two nodes', [past(), past({}, { valid: true })]],
    ['while a node has not seen its blockhash yet', [past({}, { slot: 999, valid: false })]],
  ])('stays open %s', async (_, nodes) => {
    // A second node alone never decides.
    expect(
      await ask(nodes).catch((error: unknown) =>
        nodes.some(({ slot }) => slot === 999) ? open : error,
      ),
    ).toEqual(open);
  });

  it('stays open when its account has neither an earlier reading nor an earlier history', async () => {
    const { before: _unread, ...unread } = payment();
    expect(
      await fateOf(historiesOf(fakeRpc([past()])), sentPayment({ mint: 'mint' }, unread), until),
    ).toEqual(open);
  });

  it('stays open while its account has too many transactions to search', async () => {
    const list = Array.from({ length: 1_000 }, () => ({
      signature: 'dust',
      slot: 1_500,
      error: null,
      memo: 'other',
    }));
    const deaf = { ...fakeRpc([past()]), signaturesFor: () => Promise.resolve(list) };
    expect(await fateOf(historiesOf({ perNode: () => [deaf] }), sent(), until)).toEqual(open);
  });

  it('is not decided when a load balancer takes the height and the list from different nodes', async () => {
    const search = fakeRpc([{ slot: 900, height: 400n }]);
    const balanced = { ...fakeRpc([past({ tx: settles })]), signaturesFor: search.signaturesFor };
    const asked = fateOf(historiesOf({ perNode: () => [balanced] }), sent(), until);
    await expect(asked).rejects.toMatchObject({ code: 'rpc_unavailable' });
  });
});

describe('a swap', () => {
  const record = {
    ...{
      signature: 'swap',
      inputMint: 'mint',
      outputMint: 'other',
      provider: 'p',
      source: 'source',
      output: 'output',
    },
    ...{
      before: { amount: START.toString(), slot: 990 },
      blockhash: 'hash',
      blockhashSlot: 1_000,
      lastValidBlockHeight: '500',
    },
  };
  const status = (commitment: 'processed' | 'confirmed', error: string | null = null) => ({
    slot: 1_010,
    commitment,
    error,
  });
  const askSwap = (node: FakeNode, statuses: Rpc['statuses'], inputMint = 'mint') =>
    fateOf(
      historiesOf(fakeRpc([node], { statuses, perNode: () => [fakeRpc([node], { statuses })] })),
      sentSwap({ ...record, inputMint }, 'wallet'),
      until,
    );

  it('is found by its id', async () => {
    expect(
      await askSwap(past({}, { height: 1n }), () => Promise.resolve([status('confirmed')])),
    ).toEqual({ ...landed, signature: 'swap' });
    const failed = await askSwap(past({ swap: { slot: 1_010, error: '"X"' } }), () =>
      Promise.resolve([status('confirmed', '"X"')]),
    );
    expect(failed).toEqual({ ...landed, signature: 'swap', error: '"X"' });
  });

  it('is found in the history of its account when statuses lag', async () => {
    const nowhere = () => Promise.resolve([null]);
    expect(await askSwap(past({ swap: { slot: 1_010, error: 'X' } }), nowhere)).toEqual({
      ...landed,
      signature: 'swap',
      error: 'X',
    });
  });

  it('stays open while it is only processed', async () => {
    expect(await askSwap(past(), () => Promise.resolve([status('processed')]))).toEqual(open);
  });

  it.each(['mint', WSOL_MINT])(
    'can never land out of %s when no status shows it and its source lacks nothing',
    async (mint) => {
      const nowhere = () => Promise.resolve([null]);
      expect(await askSwap(past(), nowhere, mint)).toEqual(never);
      // The node's statuses lag behind its accounts.
      expect(await askSwap(past({}, { held: START - 1n }), nowhere, mint)).toEqual(open);
    },
  );
});

describe('the search in the history', () => {
  it('reads each possible transaction once, and no impossible transaction', async () => {
    const history = { a: { slot: 1_020 }, c: { slot: 985 } };
    const rpc = fakeRpc([past(history, { height: 1n })]);
    const histories = historiesOf(rpc);
    await fateOf(histories, sent(), until);
    await fateOf(histories, sent(), until);
    expect(rpc.asked).toEqual(['tip', 'signaturesFor', 'transaction', 'tip', 'signaturesFor']);
  });

  it('reads no transaction without a memo when the node shows memos of other transactions', async () => {
    const rpc = fakeRpc([
      past({ told: { slot: 1_020, memo: 'other' }, ...dust(500, null) }, { height: 1n }),
    ]);
    expect(await fateOf(historiesOf(rpc), sent(), until)).toEqual(open);
    expect(rpc.asked).not.toContain('transaction');
  });

  it('asks once for all open payments of an account, and not again within a slot', async () => {
    const rpc = fakeRpc([past({}, { height: 1n })]);
    const histories = createHistories(rpc, { now: () => 0, sleep: () => Promise.resolve() });
    const many = Array.from({ length: 60 }, (_, index) =>
      sent({ payerSignature: `ours ${index}`, memo: `nonce ${index}` }),
    );
    await Promise.all(many.map((payment) => fateOf(histories, payment, until)));
    await Promise.all(many.map((payment) => fateOf(histories, payment, until)));
    expect(rpc.asked).toEqual(['tip', 'signaturesFor']);
  });

  it('reads a transaction once for all open payments that look at the same time', async () => {
    const rpc = fakeRpc([past(dust(30, null), { height: 1n })]);
    const histories = historiesOf(rpc);
    const aborting = new AbortController();
    const many = Array.from({ length: 60 }, (_, index) =>
      sent({ payerSignature: `ours ${index}` }),
    );
    // An aborted look must not stop the looks of other payments.
    const first = fateOf(histories, sent({ payerSignature: 'aborted' }), aborting.signal);
    const rest = Promise.all(many.map((payment) => fateOf(histories, payment, until)));
    aborting.abort(new Error('closed'));
    await expect(first).rejects.toThrow('closed');
    expect(new Set(await rest)).toEqual(new Set([open]));
    expect(rpc.asked.filter((name) => name === 'transaction')).toHaveLength(30);
  });

  it('stops asking a node that gives none of its transactions', async () => {
    const list = Object.fromEntries(
      Array.from({ length: 50 }, (_, index) => [`t${index}`, { slot: 1_500, read: null }]),
    );
    const rpc = fakeRpc([past(list)]);
    expect(await fateOf(historiesOf(rpc), sent(), until)).toEqual(open);
    expect(rpc.asked.filter((name) => name === 'transaction')).toHaveLength(5);
  });

  it('rejects when no node answers, and with the reason of an abort', async () => {
    await expect(ask([past({}, { down: true }), past({}, { down: true })])).rejects.toMatchObject({
      code: 'rpc_unavailable',
    });
    const aborting = new AbortController();
    const rpc = fakeRpc([past()]);
    const stopping = {
      ...rpc,
      tip: () => {
        aborting.abort(new Error('closed'));
        return Promise.reject(new Error('closed'));
      },
    };
    await expect(
      fateOf(historiesOf({ perNode: () => [stopping, rpc] }), sent(), aborting.signal),
    ).rejects.toThrow('closed');
    expect(rpc.asked).toEqual([]);
  });
});
