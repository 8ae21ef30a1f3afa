import { receiptOf, type Client, type ClientOptions, type ErrorCode } from 'exact-change';
import { expect } from 'vitest';
import { MODE } from '../../../adapters/sandbox/venue/venue.mjs';
import { landed, until } from '../../helpers/chain.js';
import { decided } from '../../helpers/flow.js';
import { failureOf, recordingSigner } from '../../helpers/payer.js';
import { expectSameBytes, expectSpent, payerSignatureOf, payments } from './after-paying.js';
import { killed } from './killed.js';
import { changed, faultyNode, NODE_FATES, over, type NodeFateName } from './node-faults.js';
import { row } from './row.js';
import { together } from './together.js';
import { bought, refused, signedBy } from './told.js';
import { attemptsOf, hasty, worldsOfFile, type Buyer, type World } from './world.js';

const worlds = worldsOfFile();
const patienceFor = (name: NodeFateName) => (name === 'timeout' ? hasty('rpc') : {});

/** Loses the first status answers of the swap to a fault, and expects a purchase with one swap. */
const unconfirmed = (name: NodeFateName) => async (world: World) => {
  // Otherwise the WebSocket reports the status that the faulty calls hide.
  world.sandbox.controls.node.webSocket = 'silent';
  const node = await faultyNode(world, 'getSignatureStatuses', NODE_FATES[name]);
  const buyer = await world.swapper(over(world, name, node));
  buyer.client.on('swap.signed', () => node.arm(3));
  const response = await bought(world.buy(buyer, 'a'));
  expect(node.met).toBeGreaterThan(0);
  expect(signedBy(buyer)).toEqual(['swap', 'payment']);
  expect(receiptOf(response)?.swap?.signature).toBe(swapsOf(buyer)[0]);
};

const swapsOf = ({ events }: Buyer) =>
  events.flatMap((event) => (event.type === 'swap.signed' ? [event.signature] : []));

row(worlds, '10', {
  'kill -9': async (world, { node: chain }) => {
    // First the chain has the swap; then the node has forgotten it.
    for (const lands of [true, false]) {
      chain.webSocket = 'silent';
      const node = await faultyNode(world, 'getSignatureStatuses', NODE_FATES.timeout);
      node.arm();
      if (!lands) chain.fault('sendTransaction', { kind: 'neverLands', times: 1 });
      const buyer = await killed(world, `lands ${String(lands)}`, {
        rpcUrl: node.front.url,
        at: () => node.met > 0,
      });
      const [attempt] = await attemptsOf(buyer);
      await bought(world.buy(buyer, `lands ${String(lands)}`));
      expect(signedBy(buyer)).toEqual(['payment']);
      expect((await landed(world.sandbox.rpcUrl, attempt?.swap?.signature ?? '')).error).toBeNull();
    }
  },
  timeout: async (world, { node: chain }) => {
    await unconfirmed('timeout')(world);
    // The client closes: the signed swap is uncertain, and the next call sends the same bytes
    // before any new swap.
    for (const lands of [true, false]) {
      const purchase = `held, lands ${String(lands)}`;
      const node = await faultyNode(world, 'getSignatureStatuses', NODE_FATES.timeout);
      const buyer = await world.swapper({ rpcUrl: node.front.url });
      node.arm();
      if (!lands) chain.fault('sendTransaction', { kind: 'neverLands' });
      const failed = failureOf(world.buy(buyer, purchase), 'swap_uncertain');
      await until('the swap was sent', () => (node.met > 0 ? true : undefined));
      await buyer.client.close();
      const error = await failed;
      expect(error).toMatchObject({
        name: 'TransactionError',
        funds: 'uncertain',
        moved: [],
        retry: 'never',
      });
      expect(error.details.signature).toBe(swapsOf(buyer)[0]);
      chain.clearFaults();
      await bought(world.buy(buyer, purchase, { client: buyer.sound() }));
      expect(signedBy(buyer)).toEqual(['swap', 'payment']);
      expect((await landed(world.sandbox.rpcUrl, error.details.signature)).error).toBeNull();
    }
  },
  '429': unconfirmed('429'),
  '5xx': unconfirmed('5xx'),
  malformed: unconfirmed('malformed'),
  'lost response': unconfirmed('lost response'),
  expired: async (world, { node: chain }) => {
    chain.webSocket = 'silent';
    // The swap is in a dropped block: first it is processed, then no node knows it.
    const processed = changed(() => ({
      context: { slot: 1 },
      value: [{ slot: 1, confirmations: 0, err: null, confirmationStatus: 'processed' }],
    }));
    const node = await faultyNode(world, 'getSignatureStatuses', processed);
    const buyer = await world.swapper({ rpcUrl: node.front.url });
    buyer.client.on('swap.signed', () => {
      node.arm(2);
      chain.fault('sendTransaction', { kind: 'neverLands', times: 1 });
    });
    const response = await bought(world.buy(buyer, 'a'));
    expect(signedBy(buyer)).toEqual(['swap', 'payment']);
    const sent = node
      .calls('sendTransaction')
      .map(({ body }) => (JSON.parse(body.toString()) as { params: [string] }).params[0]);
    expect([sent.length > 1, new Set(sent).size]).toEqual([true, 1]);
    expect(
      (await landed(world.sandbox.rpcUrl, receiptOf(response)?.swap?.signature ?? '')).error,
    ).toBeNull();
  },
  concurrent: async (world) => {
    world.sandbox.controls.node.webSocket = 'silent';
    const node = await faultyNode(world, 'getSignatureStatuses', NODE_FATES['5xx']);
    const buyer = await world.swapper({ rpcUrl: node.front.url });
    buyer.client.on('swap.signed', () => node.arm(3));
    const names = ['a', 'b', 'c', 'd'];
    await Promise.all(names.map((name) => bought(world.buy(buyer, name))));
    expect(signedBy(buyer)).toEqual(['swap', ...names.map(() => 'payment')]);
  },
});

/** Lets a failed swap soon be final, after 32 slots, which a client awaits before another swap. */
const finalizeSoon = ({ sandbox }: World) => void (sandbox.controls.node.slotMs = 100);

/** Lets the first or each swap of a client fail on the chain, because the price has moved. */
function priceMoves(world: World, client: Client, how: 'once' | 'always'): void {
  const { aggregator } = world.sandbox.controls;
  finalizeSoon(world);
  const stop = client.on('swap.signed', () => aggregator.setVenue({ deviationBps: 80 }));
  client.on('swap.failed', () => {
    if (how === 'once') stop();
    aggregator.setVenue({});
  });
}

async function feesOf(world: World, signatures: readonly string[]): Promise<string> {
  const fees = await Promise.all(
    signatures.map(async (signature) => (await landed(world.sandbox.rpcUrl, signature)).fee),
  );
  return fees.reduce((sum, fee) => sum + fee, 0n).toString();
}

/** Hides the failure of a swap from the client: its status, or its transaction. */
const failedUnseen =
  (name: NodeFateName, method: 'getSignatureStatuses' | 'getTransaction') =>
  async (world: World) => {
    world.sandbox.controls.node.webSocket = 'silent';
    const node = await faultyNode(world, method, NODE_FATES[name]);
    const buyer = await world.swapper(over(world, name, node));
    const stop = buyer.client.on('swap.signed', () => {
      stop();
      node.arm(2);
    });
    priceMoves(world, buyer.client, 'once');
    const response = await bought(world.buy(buyer, 'again'));
    expect(node.met).toBeGreaterThan(0);
    expect(signedBy(buyer)).toEqual(['swap', 'swap', 'payment']);
    const [failed = '', made = ''] = swapsOf(buyer);
    expect((await landed(world.sandbox.rpcUrl, failed)).error).not.toBeNull();
    expect(receiptOf(response)?.swap?.signature).toBe(made);
    expect(receiptOf(response)?.cost.networkFeeLamports).toBe(await feesOf(world, [failed, made]));
  };

/** Hides a permanent failure of a swap, which causes no second swap. */
const failedForGood = (name: NodeFateName) => async (world: World) => {
  finalizeSoon(world);
  world.sandbox.controls.node.webSocket = 'silent';
  const node = await faultyNode(world, 'getSignatureStatuses', NODE_FATES[name]);
  const buyer = await world.swapper(over(world, name, node));
  buyer.client.on('swap.signed', () => {
    node.arm(2);
    world.sandbox.controls.aggregator.setVenue({ modes: [MODE.fail], amount: 4242n });
  });
  const error = await failureOf(world.buy(buyer, 'final'), 'swap_failed');
  expect(error).toMatchObject({
    name: 'TransactionError',
    funds: 'untouched',
    moved: [],
    retry: 'fresh',
  });
  const [signature = ''] = swapsOf(buyer);
  expect(error.details).toMatchObject({
    signature,
    feeLamports: await feesOf(world, [signature]),
  });
  expect(signedBy(buyer)).toEqual(['swap']);
  world.sandbox.controls.aggregator.restore();
};

row(worlds, '10b', {
  'kill -9': async (world, { node: chain, aggregator }) => {
    chain.webSocket = 'silent';
    const node = await faultyNode(world, 'getSignatureStatuses', NODE_FATES.timeout);
    node.arm();
    const moving = await world.front(async (exchange) => {
      if (exchange.call === 'sendTransaction') aggregator.setVenue({ deviationBps: 80 });
      return exchange.pass();
    }, node.front.url);
    const buyer = await killed(world, 'a', { rpcUrl: moving.url, at: () => node.met > 0 });
    finalizeSoon(world);
    const [attempt] = await attemptsOf(buyer);
    const { error, fee } = await landed(world.sandbox.rpcUrl, attempt?.swap?.signature ?? '');
    expect(error).not.toBeNull();
    expect(buyer.given.SOL - (await world.sandbox.balance(buyer.address, 'SOL'))).toBe(fee);
    await bought(world.buy(buyer, 'a'));
    expect(signedBy(buyer)).toEqual(['swap', 'payment']);
  },
  timeout: failedUnseen('timeout', 'getTransaction'),
  '429': failedUnseen('429', 'getSignatureStatuses'),
  '5xx': failedUnseen('5xx', 'getTransaction'),
  malformed: async (world) => {
    await failedUnseen('malformed', 'getSignatureStatuses')(world);
    await failedForGood('malformed')(world);
  },
  'lost response': failedUnseen('lost response', 'getTransaction'),
  expired: async (world) => {
    const buyer = await world.swapper();
    priceMoves(world, buyer.client, 'always');
    const error = await failureOf(world.buy(buyer, 'a'), 'swap_failed');
    expect(error).toMatchObject({
      name: 'TransactionError',
      funds: 'untouched',
      moved: [],
      retry: 'fresh',
    });
    const swaps = swapsOf(buyer);
    expect([swaps.length, signedBy(buyer)]).toEqual([2, ['swap', 'swap']]);
    expect(error.details).toMatchObject({
      signature: swaps[1],
      feeLamports: await feesOf(world, swaps),
    });
    expect(buyer.events.filter(({ type }) => type === 'swap.quoted')).toHaveLength(2);
  },
  concurrent: async (world) => {
    const buyer = await world.swapper();
    priceMoves(world, buyer.client, 'once');
    const names = ['a', 'b', 'c'];
    await Promise.all(names.map((name) => bought(world.buy(buyer, name))));
    expect(signedBy(buyer)).toEqual(['swap', 'swap', ...names.map(() => 'payment')]);

    const unlucky = await world.swapper();
    unlucky.client.on('swap.signed', () =>
      world.sandbox.controls.aggregator.setVenue({ modes: [MODE.fail], amount: 4242n }),
    );
    unlucky.client.on('swap.failed', () => world.sandbox.controls.aggregator.setVenue({}));
    const errors = await Promise.all(
      names.map((name) => failureOf(world.buy(unlucky, `no ${name}`), 'swap_failed')),
    );
    for (const error of errors)
      expect(error).toMatchObject({ funds: 'untouched', moved: [], retry: 'fresh' });
    expect(payments(unlucky)).toBe(0);
  },
});

/** Makes a buyer with a confirmed swap that no node returns, so only its guard shows the output. */
async function unreadableSwap(world: World) {
  const { node: chain } = world.sandbox.controls;
  chain.intercept = (method, _, next) => (method === 'getTransaction' ? null : next());
  const node = await faultyNode(world, 'getMultipleAccounts', NODE_FATES.malformed);
  const buyer = await world.swapper(over(world, undefined, node));
  buyer.client.on('swap.confirmed', () => (chain.intercept = undefined));
  return { node, buyer };
}

/** Kills a process after its swap landed, so that the next process must read the swap's output. */
async function leftWithTokens(world: World, purchase: string): Promise<Buyer> {
  const node = await faultyNode(world, 'getTransaction', NODE_FATES.timeout);
  node.arm();
  const buyer = await killed(world, purchase, { rpcUrl: node.front.url, at: () => node.met > 0 });
  node.arm(0);
  expect(await world.sandbox.balance(buyer.address, 'USDC')).toBeGreaterThan(buyer.given.USDC);
  return buyer;
}

const rereads = (name: NodeFateName) => async (world: World) => {
  const buyer = await leftWithTokens(world, 'a');
  const node = await faultyNode(world, 'getMultipleAccounts', NODE_FATES[name]);
  const client = buyer.again({ ...buyer.options, ...over(world, name, node) });
  node.arm(1);
  await bought(world.buy(buyer, 'a', { client }));
  expect([node.met, signedBy(buyer)]).toEqual([1, ['payment']]);
};

/** Expects no second swap while a fault persists; the next call pays with the swapped tokens. */
const neverReads = (name: 'timeout' | 'malformed', code: ErrorCode) => async (world: World) => {
  const node = await faultyNode(world, 'getMultipleAccounts', NODE_FATES[name]);
  const other = await leftWithTokens(world, 'b');
  const alone = other.again({ ...other.options, rpcUrl: node.front.url, ...patienceFor(name) });
  node.arm();
  const error = await failureOf(world.buy(other, 'b', { client: alone }), code);
  expect(error).toMatchObject({ name: 'TransportError', funds: 'untouched', retry: 'fresh' });
  node.arm(0);
  await bought(world.buy(other, 'b', { client: other.sound() }));
  expect(signedBy(other)).toEqual(['payment']);
};

row(worlds, '11', {
  'kill -9': async (world) => {
    const buyer = await leftWithTokens(world, 'a');
    await bought(world.buy(buyer, 'a'));
    expect(signedBy(buyer)).toEqual(['payment']);
  },
  timeout: async (world) => {
    await rereads('timeout')(world);
    await neverReads('timeout', 'timeout')(world);
  },
  '429': rereads('429'),
  '5xx': rereads('5xx'),
  malformed: async (world) => {
    await rereads('malformed')(world);
    await neverReads('malformed', 'invalid_response')(world);
  },
  'lost response': rereads('lost response'),
  expired: async (world) => {
    const { node, buyer } = await unreadableSwap(world);
    await bought(world.buy(buyer, 'a'));
    const commitments = node
      .calls('getMultipleAccounts')
      .map(({ body }) => /"commitment":"(\w+)"/.exec(body.toString())?.[1]);
    expect([commitments.length > 1, [...new Set(commitments)]]).toEqual([true, ['confirmed']]);
    expect(signedBy(buyer)).toEqual(['swap', 'payment']);
  },
  concurrent: async (world) => {
    const { buyer } = await unreadableSwap(world);
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const { url: base } = await together(world, names.length);
    await Promise.all(names.map((name) => bought(world.buy(buyer, name, { base }))));
    // A swap brings at least five cents; six payments of a cent need more, and share a larger swap.
    expect(signedBy(buyer)).toEqual(['swap', ...names.map(() => 'payment')]);
  },
});

/** Starts a node that records the blockhashes it returns. */
const recordedBlockhashes = (world: World) => {
  const blockhashes: string[] = [];
  const fate = changed((result) => {
    blockhashes.push((result as { value: { blockhash: string } }).value.blockhash);
    return result;
  });
  return faultyNode(world, 'getLatestBlockhash', fate).then(
    (node) => (node.arm(), { node, blockhashes }),
  );
};

const unhashed = (name: NodeFateName) => async (world: World) => {
  const node = await faultyNode(world, 'getLatestBlockhash', NODE_FATES[name]);
  const buyer = await world.buyer({ USDC: '1' }, over(world, name, node));
  node.arm(1);
  await bought(world.buy(buyer, 'a'));
  expect([node.met, payments(buyer)]).toEqual([1, 1]);

  const options = { rpcUrl: node.front.url, ...patienceFor(name) };
  const alone = await world.buyer({ USDC: '1' }, options);
  node.arm();
  const codes = {
    timeout: 'timeout',
    '429': 'rate_limited',
    '5xx': 'rpc_unavailable',
    malformed: 'invalid_response',
  } as const;
  const code = name === 'lost response' ? 'rpc_unavailable' : codes[name];
  const error = await refused(alone, world.buy(alone, 'b'), code);
  expect(error).toMatchObject({ name: 'TransportError', retry: 'fresh' });
};

/** Makes a client with a signer that changes or delays signatures; `times` counts its calls. */
function meddling(
  buyer: Buyer,
  meddle: (signature: Uint8Array) => Uint8Array | Promise<Uint8Array>,
) {
  const { signer, signed } = recordingSigner(buyer.address, buyer.secretKey);
  const options: ClientOptions = {
    journal: buyer.journal,
    signer: {
      address: signer.address,
      signMessage: async (message, intent) => meddle(await signer.signMessage(message, intent)),
    },
  };
  return { client: buyer.again(options), times: () => signed.length };
}

row(worlds, '12', {
  'kill -9': async (world) => {
    const funds = { USDC: '1' };
    // The payment is signed and not on record, so it has not left.
    const unwritten = await killed(world, 'unwritten', { funds, at: 'before writing signed' });
    await bought(world.buy(unwritten, 'unwritten'));
    expect(signedBy(unwritten)).toEqual(['payment']);

    const signed = await killed(world, 'signed', { funds, at: 'after writing signed' });
    const [attempt] = await attemptsOf(signed);
    const response = await bought(world.buy(signed, 'signed'));
    expect([signedBy(signed), payerSignatureOf(response)]).toEqual([
      [],
      attempt?.payment?.payerSignature,
    ]);

    const expired = await killed(world, 'expired', { funds, at: 'after writing signed' });
    const [old] = await attemptsOf(expired);
    world.sandbox.controls.node.warp();
    const fresh = await bought(world.buy(expired, 'expired'));
    expect([signedBy(expired), payerSignatureOf(fresh) === old?.payment?.payerSignature]).toEqual([
      ['payment'],
      false,
    ]);
    expect((await attemptsOf(expired))[0]).toMatchObject({ id: old?.id, state: 'unsettled' });
  },
  timeout: unhashed('timeout'),
  '429': unhashed('429'),
  '5xx': unhashed('5xx'),
  malformed: async (world) => {
    await unhashed('malformed')(world);
    const lifetimes: readonly unknown[] = [
      { blockhash: 'not base58: 0OIl', lastValidBlockHeight: 1_000 },
      { blockhash: '1111', lastValidBlockHeight: 1_000 },
      { blockhash: '', lastValidBlockHeight: 1_000 },
      { blockhash: 7, lastValidBlockHeight: 1_000 },
      { blockhash: '11111111111111111111111111111111', lastValidBlockHeight: -1 },
      { blockhash: '11111111111111111111111111111111', lastValidBlockHeight: 'soon' },
      { blockhash: '11111111111111111111111111111111', lastValidBlockHeight: 1.5 },
      { blockhash: '11111111111111111111111111111111' },
      null,
    ];
    const buyer = await world.buyer();
    for (const value of lifetimes) {
      const node = await faultyNode(
        world,
        'getLatestBlockhash',
        changed(() => ({ context: { slot: 1 }, value })),
      );
      node.arm();
      const client = buyer.again({ rpcUrl: node.front.url, journal: buyer.journal });
      await refused(buyer, world.buy(buyer, 'lifetime', { client }), 'invalid_response');
    }
    // The client verifies each signature against the built transaction.
    for (const meddle of [
      (signature: Uint8Array) => signature.map((byte) => byte ^ 1),
      () => new Uint8Array(64),
      () => new Uint8Array(1),
    ]) {
      const { client, times } = meddling(buyer, meddle);
      const error = await refused(
        buyer,
        world.buy(buyer, 'signature', { client }),
        'signing_failed',
      );
      expect([error.name, error.details, times()]).toEqual([
        'TransactionError',
        { address: buyer.address },
        1,
      ]);
    }
  },
  expired: async (world) => {
    // The swap takes longer than the client keeps a blockhash.
    world.sandbox.controls.node.webSocket = 'silent';
    const { node, blockhashes } = await recordedBlockhashes(world);
    const buyer = await world.swapper({ rpcUrl: node.front.url });
    let beforeSwap = 0;
    buyer.client.on('swap.signed', () => {
      beforeSwap = blockhashes.length;
      world.sandbox.controls.node.confirmationMs = 2_500;
    });
    buyer.client.on('swap.confirmed', () => (world.sandbox.controls.node.confirmationMs = 20));
    await bought(world.buy(buyer, 'a'));
    const blockhash = (await attemptsOf(buyer))[0]?.payment?.blockhash;
    expect(blockhashes.slice(beforeSwap)).toContain(blockhash);
    expect(blockhashes.slice(0, beforeSwap)).not.toContain(blockhash);
  },
  duplicate: async (world) => {
    const buyer = await world.buyer();
    const front = await world.front((exchange) =>
      exchange.isPaid && exchange.beforeAlike < 3 ? 'cut' : exchange.pass(),
    );
    const init = { base: front.url, idempotencyKey: 'order 6' };
    const signatures = [];
    for (const _ of [1, 2, 3])
      signatures.push(
        payerSignatureOf(await failureOf(world.buy(buyer, 'a', init), 'payment_uncertain')),
      );
    const response = await bought(world.buy(buyer, 'a', init));
    expect(new Set([...signatures, payerSignatureOf(response)]).size).toBe(1);
    expectSameBytes(buyer, front, 4);
  },
  concurrent: async (world) => {
    const buyer = await world.buyer();
    const front = await world.front((exchange) => exchange.pass());
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const { client, times } = meddling(buyer, async (signature) => (await held, signature));
    const init = { base: front.url, idempotencyKey: 'order 7', client };
    const first = world.buy(buyer, 'a', init);
    await until('the signer is called', () => (times() > 0 ? true : undefined));
    for (const _ of [1, 2]) {
      const error = await failureOf(world.buy(buyer, 'a', init), 'payment_in_progress');
      expect(error).toMatchObject({
        name: 'SettlementError',
        funds: 'uncertain',
        moved: [],
        retry: 'same',
      });
    }
    release();
    const response = await bought(first);
    expect((await decided(response)).state).toBe('settled');
    await expectSpent(world, buyer, 'a', init, response);
    expect([times(), front.exchanges.filter(({ isPaid }) => isPaid).length]).toEqual([1, 1]);
  },
});
