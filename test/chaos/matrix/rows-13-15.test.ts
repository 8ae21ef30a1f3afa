import { receiptOf, SOLANA_MAINNET, type ExactChangeError } from 'exact-change';
import { expect } from 'vitest';
import { base64, entryV1, envelopeV1 } from '../../fixtures/malformed-402.js';
import { landed, until } from '../../helpers/chain.js';
import { decided } from '../../helpers/flow.js';
import { failureOf } from '../../helpers/payer.js';
import type { Seller } from '../../helpers/seller.js';
import {
  afterSettling,
  delivery,
  expectSameBytes,
  expectServed,
  expectSpent,
  expectUncertain,
  uncertain,
  mangled,
  onFirstPaid,
  onPaid,
  payerSignatureOf,
  payments,
  receiptsOf,
  refusal,
  told,
  wordOf,
  type Word,
} from './after-paying.js';
import { answer, type Answer, type Front } from './front.js';
import { killed } from './killed.js';
import { faultyNode, NODE_FATES } from './node-faults.js';
import { row } from './row.js';
import { gateFor, rivals } from './together.js';
import { attemptsOf, hasty, worldsOfFile, type World } from './world.js';

const isPresented = ({ exchanges }: Front) => exchanges.some(({ isPaid }) => isPaid);

/** Starts a merchant that settles and never answers. */
async function settlesAndHangs(world: World) {
  let settled = false;
  const decide = afterSettling(() => {
    settled = true;
    return 'hang';
  });
  return { front: await world.front(onPaid(decide)), isSettled: () => settled };
}

const worlds = worldsOfFile();
const usdc = { USDC: '1' } as const;

row(worlds, '13', {
  'kill -9': async (world) => {
    const unseen = await world.front(onFirstPaid(() => 'hang'));
    const early = await killed(world, 'unseen', {
      funds: usdc,
      base: unseen.url,
      at: () => isPresented(unseen),
    });
    const [attempt] = await attemptsOf(early);
    await expectServed(world, early, 'unseen', { base: unseen.url }, attempt);
    expect(payments(early)).toBe(0);

    const { front, isSettled } = await settlesAndHangs(world);
    const late = await killed(world, 'settled', { funds: usdc, base: front.url, at: isSettled });
    const [paid] = await attemptsOf(late);
    for (const _ of [1, 2, 3]) await expectSpent(world, late, 'settled', { base: front.url }, paid);
    expect([payments(late), front.exchanges.filter(({ isPaid }) => isPaid).length]).toEqual([0, 1]);
  },
  timeout: async (world) => {
    const buyer = await world.buyer(usdc, hasty('payment'));
    const settled = await world.front(onPaid(afterSettling(() => 'hang')));
    const late = await uncertain(world.buy(buyer, 'settled', { base: settled.url }));
    expect(late.cause).toMatchObject({ name: 'TimeoutError' });
    await told(buyer, 'payment.settled');
    await expectSpent(world, buyer, 'settled', { base: settled.url }, late);
    expectSameBytes(buyer, settled, 1);

    const patient = await world.buyer(usdc, hasty('payment'));
    const unseen = await world.front(onFirstPaid(() => 'hang'));
    const lost = await uncertain(world.buy(patient, 'unseen', { base: unseen.url }));
    const again = { base: unseen.url, client: patient.sound() };
    await expectServed(world, patient, 'unseen', again, lost);
    expectSameBytes(patient, unseen, 2);
  },
  '429': async (world) => {
    const buyer = await world.buyer();
    const slow = answer(429, '', { 'retry-after': '1' });
    const front = await world.front(
      onPaid((exchange) => (exchange.beforeAlike < 2 ? slow : exchange.pass())),
    );
    const answers: Response[] = [];
    for (const _ of [1, 2]) {
      const held = await world.buy(buyer, 'a', { base: front.url });
      expect([held.status, held.headers.get('retry-after'), receiptOf(held)?.state]).toEqual([
        429,
        '1',
        'uncertain',
      ]);
      answers.push(held);
    }
    expect(new Set(answers.map(payerSignatureOf)).size).toBe(1);
    await expectServed(world, buyer, 'a', { base: front.url }, answers[0]);
    expectSameBytes(buyer, front, 3);

    const other = await world.buyer();
    const taken = await world.front(onPaid(afterSettling(() => slow)));
    const held = await world.buy(other, 'b', { base: taken.url });
    expect(held.status).toBe(429);
    expect((await decided(held)).state).toBe('settled');
    await expectSpent(world, other, 'b', { base: taken.url }, held);
    expectSameBytes(other, taken, 1);
  },
  '5xx': async (world) => {
    for (const status of [500, 504]) {
      const buyer = await world.buyer();
      const front = await world.front(onPaid(afterSettling(() => answer(status, 'upstream'))));
      const failed = await world.buy(buyer, `settled${status}`, { base: front.url });
      expect([failed.status, await failed.text()]).toEqual([status, 'upstream']);
      expect((await decided(failed)).state).toBe('settled');
      // A wrapper repeats the failed call.
      for (const _ of [1, 2])
        await expectSpent(world, buyer, `settled${status}`, { base: front.url }, failed);
      expectSameBytes(buyer, front, 1);
    }
    const buyer = await world.buyer();
    const front = await world.front(onFirstPaid(() => answer(503)));
    const failed = await world.buy(buyer, 'unsettled', { base: front.url });
    expect([failed.status, receiptOf(failed)?.state]).toEqual([503, 'uncertain']);
    await expectServed(world, buyer, 'unsettled', { base: front.url }, failed);
    expectSameBytes(buyer, front, 2);
  },
  malformed: async (world) => {
    const buyer = await world.buyer();
    const noisy = await mangled(world, ({ socket }) =>
      socket?.end('\u0000\u0001 no answer at all\r\n\r\n'),
    );
    const error = await uncertain(world.buy(buyer, 'a', { base: noisy.url }));
    expect(error.cause).toBeInstanceOf(TypeError);
    await told(buyer, 'payment.settled');
    await expectSpent(world, buyer, 'a', { base: noisy.url }, error);
    expect([noisy.paid.length, payments(buyer)]).toEqual([1, 1]);
  },
  'lost response': async (world) => {
    const buyer = await world.buyer();
    const settled = await world.front(onPaid(afterSettling(() => 'cut')));
    const late = await uncertain(world.buy(buyer, 'settled', { base: settled.url }));
    for (const _ of [1, 2, 3])
      await expectSpent(world, buyer, 'settled', { base: settled.url }, late);
    expectSameBytes(buyer, settled, 1);

    const other = await world.buyer();
    const unseen = await world.front(onFirstPaid(() => 'cut'));
    const lost = await uncertain(world.buy(other, 'unseen', { base: unseen.url }));
    await expectServed(world, other, 'unseen', { base: unseen.url }, lost);
    expectSameBytes(other, unseen, 2);

    // The client does not repeat a POST, because it may have side effects.
    const poster = await world.buyer();
    const post = {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
      path: '/echo',
    };
    const once = await world.front(onFirstPaid(() => 'cut'));
    const posted = await uncertain(world.buy(poster, 'posted', { ...post, base: once.url }));
    const held = await uncertain(world.buy(poster, 'posted', { ...post, base: once.url }));
    expect(payerSignatureOf(held)).toBe(payerSignatureOf(posted));
    expectSameBytes(poster, once, 1);
  },
  expired: async (world) => {
    const buyer = await world.buyer();
    const front = await world.front(onFirstPaid(() => 'cut'));
    const lost = await uncertain(world.buy(buyer, 'a', { base: front.url }));
    world.sandbox.controls.node.warp();
    const response = await world.buy(buyer, 'a', { base: front.url, client: buyer.again() });
    expect(response.status).toBe(200);
    expect(payerSignatureOf(response)).not.toBe(payerSignatureOf(lost));
    expect((await decided(response)).state).toBe('settled');
    const states = (await receiptsOf(buyer)).map(({ state, payment }) => [
      state,
      payment.payerSignature,
    ]);
    expect(states).toEqual([
      ['unsettled', payerSignatureOf(lost)],
      ['settled', payerSignatureOf(response)],
    ]);
    expect((await buyer.client.spent())[0]?.used).toBe('0.01');
  },
  duplicate: async (world) => {
    const buyer = await world.buyer();
    // The seller takes the first request, loses its answer, and recognises the second.
    const front = await world.front(
      onPaid(async (exchange) => {
        if (exchange.beforeAlike === 0) return 'cut';
        expect((await exchange.pass()).status).toBe(200);
        return answer(409, 'known');
      }),
    );
    const lost = await failureOf(world.buy(buyer, 'a', { base: front.url }), 'payment_uncertain');
    const conflict = await world.buy(buyer, 'a', { base: front.url });
    expect([conflict.status, await conflict.text(), payerSignatureOf(conflict)]).toEqual([
      409,
      'known',
      payerSignatureOf(lost),
    ]);
    expect((await decided(conflict)).state).toBe('settled');
    await expectSpent(world, buyer, 'a', { base: front.url }, lost);
    expectSameBytes(buyer, front, 2);
  },
  concurrent: async (world) => {
    const buyer = await world.buyer();
    const { front, race } = await rivals(world, 5);
    const init = { base: front.url, idempotencyKey: 'order 1' };
    const outcomes = await race(() => world.buy(buyer, 'a', init));
    const [bought, ...rest] = outcomes.flatMap((outcome) =>
      outcome.status === 'fulfilled' ? [outcome.value] : [],
    );
    expect([bought?.status, rest.length]).toEqual([200, 0]);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        expect(outcome.reason).toMatchObject({
          code: 'payment_in_progress',
          funds: 'uncertain',
          retry: 'same',
        });
    expect(payments(buyer)).toBe(1);

    // Parallel calls repeat a call with a lost answer; the seller answers once all have arrived,
    // unpaid and then paid.
    const repeater = await world.buyer();
    const repeats = [1, 2, 3, 4];
    const [ask, pay] = [gateFor(repeats.length), gateFor(repeats.length)];
    const lossy = await world.front(async (exchange) => {
      const isFirst = exchange.beforeAlike === 0;
      if (isFirst && exchange.isPaid) return 'cut';
      if (!isFirst) await (exchange.isPaid ? pay : ask)();
      return exchange.pass();
    });
    const lost = await failureOf(
      world.buy(repeater, 'b', { base: lossy.url }),
      'payment_uncertain',
    );
    const again = await Promise.allSettled(
      repeats.map(() => world.buy(repeater, 'b', { base: lossy.url })),
    );
    for (const outcome of again) {
      if (outcome.status === 'fulfilled')
        expect([outcome.value.status, payerSignatureOf(outcome.value)]).toEqual([
          200,
          payerSignatureOf(lost),
        ]);
      else
        expect(outcome.reason).toMatchObject({
          code: 'already_spent',
          funds: 'spent',
          details: { payerSignature: payerSignatureOf(lost) },
        });
    }
    expect(again.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(payments(repeater)).toBe(1);
  },
});

/** Makes a false `payment-response` from the real settlement. */
type Claim = (real: Word) => unknown;

const CLAIMS: readonly (readonly [name: string, claim: Claim])[] = [
  ['nothing', () => 'no word'],
  ['a list', (real) => [real]],
  ['no transaction', ({ network }) => ({ success: true, network })],
  ['an empty transaction', (real) => ({ ...real, transaction: '' })],
  ['what is no transaction', (real) => ({ ...real, transaction: '../../etc' })],
  ['another network', (real) => ({ ...real, network: 'eip155:8453' })],
  ['another payer', (real) => ({ ...real, payer: 'AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9' })],
  ['that it failed', (real) => ({ ...real, success: false, errorReason: 'no' })],
];

/** Returns the transaction of another wallet's payment. */
async function strangersPayment(world: World): Promise<string> {
  const stranger = await world.buyer();
  const response = await world.buy(stranger, 'theirs');
  return (await decided(response)).payment.signature ?? '';
}

row(worlds, '14', {
  'kill -9': async (world) => {
    for (const at of ['after writing answer', 'after answer'] as const) {
      const init = { idempotencyKey: `order ${at}` };
      const buyer = await killed(world, at, { funds: usdc, init, at });
      const [attempt] = await attemptsOf(buyer);
      expect(attempt?.delivered).toBe(at === 'after writing answer');
      if (attempt?.delivered === true) expect(attempt.receipt?.settlement?.success).toBe(true);
      await expectSpent(world, buyer, at, init, attempt);
      expect(await receiptsOf(buyer)).toMatchObject([
        { state: 'settled', payment: { signature: expect.any(String) } },
      ]);
      expect(payments(buyer)).toBe(0);
    }
  },
  timeout: async (world) => {
    const buyer = await world.buyer();
    const stalls = await mangled(world, (response, real) => {
      response.writeHead(200, {
        'content-length': '100',
        'payment-response': real.headers['payment-response'] ?? '',
      });
      response.write('half');
    });
    const stop = new AbortController();
    const response = await world.buy(buyer, 'a', {
      base: stalls.url,
      signal: stop.signal,
      idempotencyKey: 'order 2',
    });
    expect([response.status, receiptOf(response)?.settlement?.success]).toEqual([200, true]);
    expect((await decided(response)).state).toBe('settled');
    stop.abort();
    await expect(response.text()).rejects.toMatchObject({ name: 'AbortError' });
    expect(await receiptsOf(buyer)).toMatchObject([
      { state: 'settled', settlement: { success: true } },
    ]);
    const init = { base: stalls.url, idempotencyKey: 'order 2' };
    await expectSpent(world, buyer, 'a', init, response);
  },
  '429': async (world) => {
    const buyer = await world.buyer();
    const front = await world.front(
      onPaid(afterSettling(({ headers }) => answer(429, '', { ...headers, 'retry-after': '1' }))),
    );
    const init = { base: front.url, idempotencyKey: 'order 5' };
    const response = await world.buy(buyer, 'a', init);
    expect([response.status, receiptOf(response)?.settlement?.success]).toEqual([429, true]);
    expect((await decided(response)).state).toBe('settled');
    await expectSpent(world, buyer, 'a', init, response);
    expectSameBytes(buyer, front, 1);
  },
  '5xx': async (world) => {
    const buyer = await world.buyer();
    const front = await world.front(
      onPaid(afterSettling(({ headers }) => answer(500, 'out of order', headers))),
    );
    const response = await world.buy(buyer, 'a', { base: front.url });
    expect([
      response.status,
      await response.text(),
      receiptOf(response)?.settlement?.success,
    ]).toEqual([500, 'out of order', true]);
    expect((await decided(response)).state).toBe('settled');
    for (const _ of [1, 2, 3]) await expectSpent(world, buyer, 'a', { base: front.url }, response);
    expectSameBytes(buyer, front, 1);
  },
  malformed: async (world) => {
    // The payment settles, and the seller's claim is unreadable or false.
    const buyer = await world.buyer();
    for (const [name, claim] of [
      ...CLAIMS,
      ['a forgery', theirs(await strangersPayment(world))] as const,
    ]) {
      let real: Word | undefined;
      const claiming = (answered: Answer) => delivery(claim((real = wordOf(answered)!)));
      const front = await world.front(onPaid(afterSettling(claiming)));
      const response = await world.buy(buyer, `settled, ${name}`, { base: front.url });
      const { state, payment } = await decided(response);
      expect([name, response.status, state, payment.signature]).toEqual([
        name,
        200,
        'settled',
        real?.transaction,
      ]);
    }
    const noise = await world.front(
      onPaid(afterSettling(() => answer(200, 'ok', { 'payment-response': '%%%' }))),
    );
    expect(
      (await decided(await world.buy(buyer, 'settled, noise', { base: noise.url }))).state,
    ).toBe('settled');
    const twice = ({ headers: { 'payment-response': word = '' } }: Answer) =>
      answer(200, 'ok', { 'payment-response': `${word}, ${word}` });
    const both = await world.front(onPaid(afterSettling(twice)));
    expect(
      (await decided(await world.buy(buyer, 'settled, twice', { base: both.url }))).state,
    ).toBe('settled');

    // The payment never settles; the seller claims another wallet's transaction.
    const believer = await world.buyer();
    const stolen = await strangersPayment(world);
    const word = {
      success: true,
      transaction: stolen,
      network: SOLANA_MAINNET,
      payer: believer.address,
    };
    const liar = await world.front(onPaid(() => delivery(word)));
    const lie = await world.buy(believer, 'never settled', { base: liar.url });
    expect([lie.status, receiptOf(lie)?.state, receiptOf(lie)?.payment.signature]).toEqual([
      200,
      'pending',
      undefined,
    ]);
    world.sandbox.controls.node.warp();
    expect((await decided(lie)).state).toBe('unsettled');
    expect((await believer.client.spent())[0]?.used).toBe('0');
  },
  'lost response': async (world) => {
    const buyer = await world.buyer();
    const breaks = await mangled(world, (response, real) => {
      response.writeHead(200, {
        'content-length': '100',
        'payment-response': real.headers['payment-response'] ?? '',
      });
      response.write('half', () => response.socket?.destroy());
    });
    const init = { base: breaks.url, idempotencyKey: 'order 3' };
    const response = await world.buy(buyer, 'a', init);
    expect([response.status, receiptOf(response)?.settlement?.success]).toEqual([200, true]);
    await expect(response.text()).rejects.toBeInstanceOf(TypeError);
    expect((await decided(response)).state).toBe('settled');
    expect(await receiptsOf(buyer)).toMatchObject([
      { state: 'settled', settlement: { success: true } },
    ]);
    await expectSpent(world, buyer, 'a', init, response);

    // A redirect does not deliver the purchase.
    for (const status of [302, 307]) {
      const mover = await world.buyer();
      const elsewhere = await world.seller((_, moved) => void moved.writeHead(200).end('stolen'));
      const front = await world.front(
        onPaid(afterSettling(() => answer(status, '', { location: elsewhere.url }))),
      );
      const moved = await world.buy(mover, `moved${status}`, { base: front.url });
      expect([moved.status, elsewhere.seen.length]).toEqual([status, 0]);
      expect((await decided(moved)).state).toBe('settled');
      await expectSpent(world, mover, `moved${status}`, { base: front.url }, moved);
      expectSameBytes(mover, front, 1);
    }
  },
  expired: async (world, controls) => {
    const buyer = await world.buyer();
    let transaction = '';
    // A fork takes the payment, reports its id, and is dropped.
    controls.node.intercept = (method, _, next) => {
      const result = next();
      if (method === 'sendTransaction' && typeof result === 'string') transaction = result;
      return result;
    };
    controls.node.fault('sendTransaction', { kind: 'neverLands' });
    const front = await world.front(
      onPaid(async (exchange) => {
        exchange.pass().catch(() => undefined);
        await until('the facilitator sends the payment', () =>
          transaction === '' ? undefined : true,
        );
        return delivery({
          success: true,
          transaction,
          network: SOLANA_MAINNET,
          payer: buyer.address,
        });
      }),
    );
    const response = await world.buy(buyer, 'a', { base: front.url });
    expect([
      response.status,
      receiptOf(response)?.state,
      receiptOf(response)?.settlement?.transaction,
    ]).toEqual([200, 'pending', transaction]);
    expect((await buyer.client.spent())[0]?.used).toBe('0.01');
    controls.node.warp();
    expect((await decided(response)).state).toBe('unsettled');
    expect((await buyer.client.spent())[0]?.used).toBe('0');
  },
  duplicate: async (world) => {
    const buyer = await world.buyer();
    // A proxy sends the paid request twice, and returns the successful answer.
    const front = await world.front(
      onPaid(async (exchange) => {
        const [first, second] = [exchange.pass(), exchange.pass()];
        const [fast, slow] = await Promise.all([first, second]);
        expect([fast.status, slow.status].sort()).toEqual([200, 402]);
        return fast.status === 200 ? fast : slow;
      }),
    );
    const response = await world.buy(buyer, 'a', { base: front.url });
    const { state, payment, settlement } = await decided(response);
    expect([response.status, state, payment.signature]).toEqual([
      200,
      'settled',
      settlement?.transaction,
    ]);
    expect(payments(buyer)).toBe(1);
  },
});

function theirs(transaction: string): Claim {
  return (real) => ({ ...real, transaction });
}

/** Returns the error after a 402 to the paid request, before the chain has decided. */
async function rejected(call: Promise<Response>): Promise<ExactChangeError<'payment_rejected'>> {
  const error = await failureOf(call, 'payment_rejected');
  expectUncertain(error);
  expect(error.details.status).toBe(402);
  return error;
}

/** Expects that one payment moved and that the chain has it. */
async function expectMoved(
  { sandbox }: World,
  error: ExactChangeError,
  transaction: string,
): Promise<void> {
  const inputMint = sandbox.mints.USDC.address;
  expect(error.moved).toEqual([
    { kind: 'payment', signature: transaction, inputMint, inAmount: '10000' },
  ]);
  const { error: failed, signatures } = await landed(sandbox.rpcUrl, transaction);
  expect([failed, signatures.includes(payerSignatureOf(error))]).toEqual([null, true]);
}

/** Changes each offer in the terms of a 402. */
function repriced(real: Answer, change: Record<string, unknown>): Answer {
  const { 'payment-required': header = '', ...headers } = real.headers;
  const terms = JSON.parse(Buffer.from(header, 'base64').toString()) as {
    accepts: Record<string, unknown>[];
  }; // The official server's format.
  const changed = { ...terms, accepts: terms.accepts.map((entry) => ({ ...entry, ...change })) };
  return { ...real, headers: { ...headers, 'payment-required': base64(changed) } };
}

row(worlds, '15', {
  'kill -9': async (world) => {
    // An endless 402, first with a settled payment and then with an unsettled payment.
    const endless = await mangled(world, (response) => {
      response.writeHead(402, { 'content-type': 'application/json' });
      response.write('{"error":');
    });
    const late = await killed(world, 'settled', {
      funds: usdc,
      base: endless.url,
      at: () => endless.paid.length > 0,
    });
    const [paid] = await attemptsOf(late);
    // resume() decides the payment in the background if it cannot decide it at once.
    await late.client.resume();
    await until('the payment is settled', async () =>
      (await attemptsOf(late))[0]?.state === 'settled' ? true : undefined,
    );
    await expectSpent(world, late, 'settled', { base: endless.url }, paid);
    expect([payments(late), endless.paid.length]).toEqual([0, 1]);

    const node = await faultyNode(world, 'getSignaturesForAddress', NODE_FATES.timeout);
    node.arm();
    const pending = await world.front(onFirstPaid(() => refusal('settlement_pending')));
    const doom = { funds: usdc, base: pending.url, rpcUrl: node.front.url, at: () => node.met > 0 };
    const early = await killed(world, 'pending', doom);
    const [attempt] = await attemptsOf(early);
    await expectServed(world, early, 'pending', { base: pending.url }, attempt);
    expect(payments(early)).toBe(0);
  },
  timeout: async (world) => {
    const buyer = await world.buyer(usdc, hasty('terms'));
    const endless = await mangled(world, (response) => {
      response.writeHead(402, { 'content-type': 'application/json' });
      response.write('{"error":');
    });
    const error = await rejected(world.buy(buyer, 'a', { base: endless.url }));
    await told(buyer, 'payment.settled');
    await expectSpent(world, buyer, 'a', { base: endless.url }, error);
    expect([endless.paid.length, payments(buyer)]).toEqual([1, 1]);
  },
  '429': async (world) => {
    const buyer = await world.buyer();
    const fates = [answer(402), answer(429, '', { 'retry-after': '1' }), answer(429)];
    const front = await world.front(
      onPaid((exchange) => fates[exchange.beforeAlike] ?? exchange.pass()),
    );
    const error = await rejected(world.buy(buyer, 'a', { base: front.url }));
    for (const _ of [1, 2]) {
      const held = await world.buy(buyer, 'a', { base: front.url });
      expect([held.status, payerSignatureOf(held)]).toEqual([429, payerSignatureOf(error)]);
    }
    await expectServed(world, buyer, 'a', { base: front.url }, error);
    expectSameBytes(buyer, front, 4);
  },
  '5xx': async (world) => {
    const buyer = await world.buyer();
    const fates = [answer(402), answer(503), answer(504)];
    const front = await world.front(
      onPaid((exchange) => fates[exchange.beforeAlike] ?? exchange.pass()),
    );
    const error = await rejected(world.buy(buyer, 'a', { base: front.url }));
    for (const status of [503, 504]) {
      const failed = await world.buy(buyer, 'a', { base: front.url });
      expect([failed.status, payerSignatureOf(failed)]).toEqual([status, payerSignatureOf(error)]);
    }
    await expectServed(world, buyer, 'a', { base: front.url }, error);
    expectSameBytes(buyer, front, 4);
  },
  malformed: async (world) => {
    // A seller that asks again forever, each time for more, and for another payee.
    const greedy = await world.buyer();
    const front = await world.front(async (exchange) => {
      if (exchange.isPaid) return repriced(await unpaid(world), { amount: '999999' });
      const change = {
        amount: String(10_000 * (1 + exchange.beforeAlike)),
        ...(exchange.beforeAlike > 2 ? { payTo: world.sandbox.feePayer } : {}),
      };
      return repriced(await exchange.pass(), change);
    });
    const signatures = new Set<string>();
    for (let tries = 0; tries < 10; tries += 1) {
      const error = await rejected(world.buy(greedy, 'a', { base: front.url }));
      signatures.add(payerSignatureOf(error));
    }
    expect(signatures.size).toBe(1);
    expectSameBytes(greedy, front, 10);

    // policy.resign allows one more signature, but no higher price and no other payee.
    const trusting = { policy: { resign: 1 } } as const;
    const changes = [{ amount: '10001' }, { payTo: world.sandbox.feePayer }];
    for (const [index, change] of changes.entries()) {
      const buyer = await world.buyer(usdc, trusting);
      const dearer = await world.front(onPaid(async () => repriced(await unpaid(world), change)));
      await rejected(world.buy(buyer, `dearer ${index}`, { base: dearer.url }));
      expectSameBytes(buyer, dearer, 1);
    }
    const once = await world.buyer(usdc, trusting);
    const same = await world.front(onPaid(() => unpaid(world)));
    await rejected(world.buy(once, 'same', { base: same.url }));
    expect([payments(once), (await once.client.spent())[0]?.used]).toEqual([2, '0.02']);

    // Sellers of version 1 refuse in the body only, so a failed settlement looks like a refusal
    // (x402.md 5.1).
    for (const settles of [true, false]) {
      const buyer = await world.buyer();
      const seller = await sellerOfVersion1(world, settles);
      const error = await rejected(world.buy(buyer, `v1 ${String(settles)}`, { base: seller.url }));
      expect(error.untrusted).toEqual({ reason: 'unexpected_settle_error' });
      for (const _ of [1, 2]) {
        if (settles) await expectSpent(world, buyer, 'v1 true', { base: seller.url }, error);
        else await rejected(world.buy(buyer, 'v1 false', { base: seller.url }));
      }
      expect([seller.paid.length, payments(buyer)]).toEqual([settles ? 1 : 3, 1]);
    }

    const words: readonly (readonly [name: string, word: Answer])[] = [
      ['bare', answer(402)],
      ['failed', refusal('transaction_failed')],
      ['noise', answer(402, '<html>', { 'payment-response': '%%%', 'payment-required': '%%%' })],
    ];
    for (const [name, word] of words) {
      const buyer = await world.buyer();
      const settled = await world.front(onPaid(afterSettling(() => word)));
      const error = await rejected(world.buy(buyer, `settled, ${name}`, { base: settled.url }));
      for (const _ of [1, 2, 3])
        await expectSpent(world, buyer, `settled, ${name}`, { base: settled.url }, error);
      expectSameBytes(buyer, settled, 1);
    }
  },
  'lost response': async (world) => {
    const buyer = await world.buyer();
    const front = await world.front(
      onPaid((exchange) =>
        exchange.beforeAlike === 0 ? answer(402) : afterSettling(() => 'cut')(exchange),
      ),
    );
    const error = await rejected(world.buy(buyer, 'a', { base: front.url }));
    const lost = await failureOf(world.buy(buyer, 'a', { base: front.url }), 'payment_uncertain');
    expect(payerSignatureOf(lost)).toBe(payerSignatureOf(error));
    // The chain may show the payment before the answer is cut.
    if (lost.funds === 'uncertain') expectUncertain(lost);
    else expect(lost).toMatchObject({ funds: 'spent', moved: [{ inAmount: '10000' }] });
    await expectSpent(world, buyer, 'a', { base: front.url }, error);
    expectSameBytes(buyer, front, 2);
  },
  expired: async (world) => {
    const buyer = await world.buyer();
    const front = await world.front(onFirstPaid(() => refusal('transaction_failed')));
    const error = await rejected(world.buy(buyer, 'a', { base: front.url }));
    expect(error.untrusted).toEqual({ reason: 'transaction_failed' });
    expect((await buyer.client.spent())[0]?.used).toBe('0.01');
    world.sandbox.controls.node.warp();
    await told(buyer, 'payment.unsettled');
    expect((await buyer.client.spent())[0]?.used).toBe('0');
    const response = await world.buy(buyer, 'a', { base: front.url, client: buyer.again() });
    expect(response.status).toBe(200);
    expect(payerSignatureOf(response)).not.toBe(payerSignatureOf(error));
    expect(payments(buyer)).toBe(2);
  },
  duplicate: async (world) => {
    const init = (base: string) => ({ base });
    const stolen = await strangersPayment(world);
    const own = (real: Answer) => wordOf(real)?.transaction;
    const cases: readonly (readonly [
      name: string,
      reason: string,
      transaction: (real: Answer) => string | undefined,
    ])[] = [
      ['pending', 'settlement_pending', own],
      ['pending, unnamed', 'settlement_pending', () => ''],
      ['pending, forged', 'settlement_pending', () => stolen],
      ['duplicate', 'duplicate_settlement', () => ''],
      ['duplicate, prefixed', 'exact_svm_duplicate_settlement', () => ''],
    ];
    for (const [name, reason, transaction] of cases) {
      const word = (real: Answer) => refusal(reason, transaction(real));
      // The merchant always answers that it has the payment. The client presents the same bytes
      // once more, and then reports what the chain shows.
      const buyer = await world.buyer();
      let real: Answer | undefined;
      const stubborn = await world.front(
        onPaid(async (exchange) => word((real ??= await exchange.pass()))),
      );
      const error = await failureOf(world.buy(buyer, name, init(stubborn.url)), 'payment_rejected');
      expect(error).toMatchObject({
        name: 'SettlementError',
        funds: 'spent',
        retry: 'never',
        untrusted: { reason },
      });
      await expectMoved(world, error, wordOf(real!)?.transaction ?? '');
      expectSameBytes(buyer, stubborn, 2);
      await expectSpent(world, buyer, name, init(stubborn.url), error);
      expectSameBytes(buyer, stubborn, 2);

      // The first case shows what follows from any of these words.
      if (name !== 'pending') continue;
      // The seller has its answer ready at the second request.
      const lucky = await world.buyer();
      let kept: Answer | undefined;
      const ready = await world.front(
        onPaid(async (exchange) => kept ?? word((kept = await exchange.pass()))),
      );
      const response = await world.buy(lucky, `${name} ready`, init(ready.url));
      expect([response.status, (await decided(response)).state]).toEqual([200, 'settled']);
      expectSameBytes(lucky, ready, 2);

      // The client does not repeat a POST unless the caller sets `repeatable`.
      const post = {
        method: 'POST',
        body: '{}',
        headers: { 'content-type': 'application/json' },
        path: '/echo',
      };
      for (const repeatable of [false, true]) {
        const poster = await world.buyer();
        let posted: Answer | undefined;
        const front = await world.front(
          onPaid(async (exchange) => word((posted ??= await exchange.pass()))),
        );
        const call = world.buy(poster, `${name} ${String(repeatable)}`, {
          ...post,
          base: front.url,
          repeatable,
        });
        const refused = await failureOf(call, 'payment_rejected');
        expect(refused).toMatchObject({ funds: 'spent', retry: 'never' });
        await expectMoved(world, refused, wordOf(posted!)?.transaction ?? '');
        expectSameBytes(poster, front, repeatable ? 2 : 1);
      }
    }
    // The seller lies: the chain has no payment, and the client signs no other.
    const deceived = await world.buyer(usdc, hasty('payment'));
    const liar = await world.front(onFirstPaid(() => refusal('duplicate_settlement')));
    const error = await rejected(world.buy(deceived, 'lie', init(liar.url)));
    expectSameBytes(deceived, liar, 1);
    const again = { base: liar.url, client: deceived.sound() };
    await expectServed(world, deceived, 'lie', again, error);
    expectSameBytes(deceived, liar, 2);
  },
  concurrent: async (world) => {
    const buyer = await world.buyer();
    const { front, race } = await rivals(
      world,
      4,
      onPaid(() => answer(402)),
    );
    const init = { base: front.url, idempotencyKey: 'order 4' };
    const first = await race(() => world.buy(buyer, 'a', init));
    const codes = first.map((outcome) =>
      outcome.status === 'rejected' ? (outcome.reason as ExactChangeError).code : 'answered',
    );
    expect(codes.sort()).toEqual([
      'payment_in_progress',
      'payment_in_progress',
      'payment_in_progress',
      'payment_rejected',
    ]);
    const again = await race(() => world.buy(buyer, 'a', init));
    expect(again.map(({ status }) => status)).toEqual([
      'rejected',
      'rejected',
      'rejected',
      'rejected',
    ]);
    expectSameBytes(buyer, front, 2);
  },
});

/** Fetches the real 402. */
async function unpaid({ sandbox }: World): Promise<Answer> {
  const response = await fetch(`${sandbox.apiUrl}/usdc`);
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: Buffer.from(await response.arrayBuffer()),
  };
}

/** Starts a v1 seller that answers every request with terms, and settles paid requests if told. */
function sellerOfVersion1(world: World, settles: boolean): Promise<Seller> {
  const { merchant, feePayer, facilitatorUrl } = world.sandbox;
  const entry = entryV1({ payTo: merchant, maxAmountRequired: '10000', extra: { feePayer } });
  return world.seller((request, response) => {
    const header = request.headers['x-payment'];
    const ask = (error: string) =>
      response
        .writeHead(402, { 'content-type': 'application/json' })
        .end(JSON.stringify(envelopeV1([entry], { error })));
    if (typeof header !== 'string') return void ask('X-PAYMENT header is required');
    const settled = settles ? settleVersion1(facilitatorUrl, header, entry) : Promise.resolve();
    settled.then(
      () => ask('unexpected_settle_error'),
      () => request.socket.destroy(),
    );
  });
}

async function settleVersion1(
  facilitatorUrl: string,
  header: string,
  paymentRequirements: unknown,
): Promise<void> {
  const paymentPayload: unknown = JSON.parse(Buffer.from(header, 'base64').toString());
  const answered = await fetch(`${facilitatorUrl}/settle`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ x402Version: 1, paymentPayload, paymentRequirements }),
  });
  expect(await answered.json()).toMatchObject({ success: true });
}
