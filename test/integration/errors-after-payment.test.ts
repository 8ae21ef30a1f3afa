import { receiptOf, type ClientOptions, type EventName } from 'exact-change';
import type { AggregatorControls } from 'exact-change-sandbox';
import { afterEach, describe, expect, it } from 'vitest';
import { entryV2, envelopeV2 } from '../fixtures/malformed-402.js';
import { listOf } from '../helpers/attempts.js';
import { landed, tokenAmount, until } from '../helpers/chain.js';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest } from '../helpers/seller.js';
import { signedOf, timesSpent } from '../helpers/spends.js';
import { expectUntouched } from '../helpers/untouched.js';
import { paidOf } from '../helpers/worth.js';

type ServiceFault = Parameters<AggregatorControls['fault']>[1];

const sandbox = await useSandbox({ confirmationMs: 20 });

afterEach(async () => {
  sandbox.controls.api.setSlowness(200);
});

const PRICE = 10_000n;
const url = (path: string) => sandbox.apiUrl + path;
const holder = (options: ClientOptions = {}) => payerOn(sandbox, { USDC: '1' }, options);
const held = ({ address }: Payer) => tokenAmount(sandbox.rpcUrl, address, sandbox.mints.USDC);
const payments = (payer: Payer) => signedOf(payer, 'payment');
const usedOf = async ({ client }: Payer) => (await client.spent())[0]?.used;
const seen = ({ events }: Payer, type: EventName) =>
  events.filter((event) => event.type === type).length;

/** Waits until the client has emitted an event `times` times. */
const told = (payer: Payer, type: EventName, times = 1) =>
  until(`${times} ${type}`, () => (seen(payer, type) >= times ? true : undefined));

/**
 * Makes a client after a warp. The blockhash of the first client is recent by the clock and old by
 * the chain.
 */
const later = (payer: Payer) => payer.again();

const receiptsOf = ({ client }: Payer) => listOf(client.receipts());

const settledOf = (payer: Payer) => timesSpent(sandbox, payer, 'USDC');

/** Answers the paid request with a fault, and no other request. */
const onPaid = ({ client }: Payer, path: string, fault: ServiceFault) => {
  const stop = client.on('payment.sent', () => {
    stop();
    sandbox.controls.api.fault(path, { times: 1, ...fault });
  });
};

describe('a second 402 while no payment has landed', () => {
  const WAYS: readonly (readonly [name: string, arm: () => unknown, reason: RegExp])[] = [
    ['the facilitator is gone', () => sandbox.controls.facilitator.stop(), /./],
    [
      'the facilitator cannot verify',
      () => sandbox.controls.facilitator.fault('/verify', { kind: 'status', status: 500 }),
      /500/,
    ],
    [
      'the facilitator says that the payment is invalid',
      () =>
        sandbox.controls.facilitator.fault('/verify', {
          kind: 'garbage',
          body: '{"isValid":false,"invalidReason":"not today"}',
        }),
      /not today/,
    ],
    [
      'the facilitator cannot settle',
      () => sandbox.controls.facilitator.fault('/settle', { kind: 'status', status: 500 }),
      /500/,
    ],
    [
      'the facilitator says that settling failed',
      () =>
        sandbox.controls.facilitator.fault('/settle', {
          kind: 'garbage',
          body: '{"success":false,"errorReason":"no luck","transaction":"","network":"solana"}',
        }),
      /no luck/,
    ],
  ];
  const repair = async () => {
    sandbox.controls.facilitator.clearFaults();
    await sandbox.controls.facilitator.start();
  };

  it.each(WAYS)(
    'reports funds as uncertain, and a repeated call presents the same payment: %s',
    async (_, arm, reason) => {
      const payer = await holder();
      await arm();
      const error = await failureOf(payer.client.fetch(url('/usdc')), 'payment_rejected');
      expect(error).toMatchObject({
        name: 'SettlementError',
        funds: 'uncertain',
        moved: [],
        retry: 'same',
      });
      expect(error.details).toEqual({
        payerSignature: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{64,88}$/),
        lastValidBlockHeight: expect.stringMatching(/^[0-9]+$/),
        status: 402,
      });
      expect(error.message).toContain(error.details.lastValidBlockHeight);
      // The text of the seller is only in the `untrusted` field.
      expect(error.untrusted?.['reason']).toMatch(reason);
      expect(error.message).not.toContain(error.untrusted?.['reason'] ?? '?');
      expect(error.response?.status).toBe(402);
      await error.response?.text();
      expect(await receiptsOf(payer)).toMatchObject([
        { state: 'uncertain', payment: { payerSignature: error.details.payerSignature } },
      ]);
      expect(await usedOf(payer)).toBe('0.01');

      await repair();
      const response = await payer.client.fetch(url('/usdc'));
      expect(response.status).toBe(200);
      expect(receiptOf(response)?.payment.payerSignature).toBe(error.details.payerSignature);
      expect([payments(payer), await settledOf(payer), await held(payer)]).toEqual([
        1,
        1,
        1_000_000n - PRICE,
      ]);
      expect(await usedOf(payer)).toBe('0.01');
    },
  );

  it('holds the budget until the chain has decided', async () => {
    const payer = await holder({ policy: { maxPerDay: '0.01' } });
    sandbox.controls.facilitator.fault('/verify', { kind: 'status', status: 500 });
    const first = await failureOf(payer.client.fetch(url('/usdc')), 'payment_rejected');
    const refused = await failureOf(payer.client.fetch(url('/memo')), 'budget_exhausted');
    expect(refused.details).toMatchObject({ used: '0.01', limit: '0.01' });
    await repair();
    sandbox.controls.node.warp();
    await told(payer, 'payment.unsettled');
    expect(await usedOf(payer)).toBe('0');
    expect(await receiptsOf(payer)).toMatchObject([
      { state: 'unsettled', payment: { payerSignature: first.details.payerSignature } },
    ]);
    expect((await later(payer).fetch(url('/memo'))).status).toBe(200);
    expect(await settledOf(payer)).toBe(1);
  });

  it('lets the same call pay anew once the payment has expired', async () => {
    const payer = await holder();
    sandbox.controls.facilitator.fault('/verify', { kind: 'status', status: 500 });
    const error = await failureOf(payer.client.fetch(url('/usdc')), 'payment_rejected');
    await repair();
    sandbox.controls.node.warp();
    const response = await later(payer).fetch(url('/usdc'));
    expect(response.status).toBe(200);
    expect(receiptOf(response)?.payment.payerSignature).not.toBe(error.details.payerSignature);
    expect([payments(payer), await settledOf(payer), await held(payer)]).toEqual([
      2,
      1,
      1_000_000n - PRICE,
    ]);
    expect(await usedOf(payer)).toBe('0.01');
  });

  it('does not send a POST again, and waits for the chain to decide', async () => {
    const payer = await holder();
    const post = (client = payer.client) =>
      client.fetch(url('/echo'), {
        method: 'POST',
        body: '{}',
        headers: { 'content-type': 'application/json' },
      });
    sandbox.controls.facilitator.fault('/verify', { kind: 'status', status: 500 });
    const error = await failureOf(post(), 'payment_rejected');
    await repair();
    const served = sandbox.controls.api.served.length;
    const again = await failureOf(post(), 'payment_uncertain');
    expect(again).toMatchObject({
      name: 'SettlementError',
      funds: 'uncertain',
      moved: [],
      retry: 'same',
    });
    expect(again.details.payerSignature).toBe(error.details.payerSignature);
    expect(sandbox.controls.api.served.length).toBe(served);
    sandbox.controls.node.warp();
    expect((await post(later(payer))).status).toBe(200);
    expect([payments(payer), await settledOf(payer)]).toEqual([2, 1]);
  });
});

describe('a second 402 after the payment has landed', () => {
  const loseSettlement = () =>
    sandbox.controls.facilitator.fault('/settle', { kind: 'dropAfter', times: 1 });

  it.each(['GET', 'POST'])(
    'reports funds as uncertain, then each repeated %s in the window as already spent',
    async (method) => {
      const payer = await holder();
      loseSettlement();
      const buy = (init: RequestInit & { idempotencyKey?: string } = {}) =>
        payer.client.fetch(url('/usdc'), { method, ...init });
      const rejected = await failureOf(buy(), 'payment_rejected');
      expect(rejected).toMatchObject({ funds: 'uncertain', moved: [] });
      for (const _ of [1, 2]) {
        const spent = await failureOf(buy(), 'already_spent');
        expect(spent).toMatchObject({ name: 'SettlementError', funds: 'spent', retry: 'never' });
        const { payerSignature, signature = '' } = spent.details;
        expect(payerSignature).toBe(rejected.details.payerSignature);
        expect(spent.moved).toEqual([
          {
            kind: 'payment',
            signature,
            inputMint: sandbox.mints.USDC.address,
            inAmount: PRICE.toString(),
          },
        ]);
        expect((await landed(sandbox.rpcUrl, signature)).signatures).toContain(payerSignature);
      }
      expect([payments(payer), await settledOf(payer), await held(payer)]).toEqual([
        1,
        1,
        1_000_000n - PRICE,
      ]);
      expect(await receiptsOf(payer)).toMatchObject([{ state: 'settled' }]);
      // The caller may buy again with another idempotency key.
      expect((await buy({ idempotencyKey: 'another' })).status).toBe(200);
      expect([payments(payer), await settledOf(payer)]).toEqual([2, 2]);
      expect(await usedOf(payer)).toBe('0.02');
    },
  );

  it('lets the same call pay anew after the retry window', async () => {
    const payer = await holder({ retryWindow: 0 });
    loseSettlement();
    await failureOf(payer.client.fetch(url('/usdc')), 'payment_rejected');
    await told(payer, 'payment.settled');
    // The caller must learn once that it has paid, even after the window.
    await failureOf(payer.client.fetch(url('/usdc')), 'already_spent');
    await until('the window is over', async () =>
      (await payer.client.fetch(url('/usdc')).catch(() => undefined))?.status === 200
        ? true
        : undefined,
    );
    expect(await settledOf(payer)).toBe(2);
  });
});

describe('a paid request without an answer', () => {
  it.each<[string, ServiceFault, ClientOptions]>([
    ['cut before the seller read it', { kind: 'dropBefore' }, {}],
    ['held until timeouts.payment', { kind: 'hang' }, { timeouts: { payment: 300 } }],
  ])('presents the same payment in a repeated call: %s', async (_, fault, options) => {
    const payer = await holder(options);
    onPaid(payer, '/usdc', fault);
    const error = await failureOf(payer.client.fetch(url('/usdc')), 'payment_uncertain');
    expect(error).toMatchObject({
      name: 'SettlementError',
      funds: 'uncertain',
      moved: [],
      retry: 'same',
    });
    expect(error.message).toContain(error.details.lastValidBlockHeight);
    expect(error.cause).toBeInstanceOf(Error);
    if (fault.kind === 'hang') expect(error.cause).toMatchObject({ name: 'TimeoutError' });
    expect(seen(payer, 'payment.uncertain')).toBe(1);
    const patient = payer.again({});
    const response = await patient.fetch(url('/usdc'));
    expect(response.status).toBe(200);
    expect(receiptOf(response)?.payment.payerSignature).toBe(error.details.payerSignature);
    expect([payments(payer), await settledOf(payer), await held(payer)]).toEqual([
      1,
      1,
      1_000_000n - PRICE,
    ]);
  });

  it('is already spent in a repeated call when the connection broke after it settled', async () => {
    const payer = await holder();
    onPaid(payer, '/usdc', { kind: 'dropAfter' });
    const error = await failureOf(payer.client.fetch(url('/usdc')), 'payment_uncertain');
    const spent = await failureOf(payer.client.fetch(url('/usdc')), 'already_spent');
    expect(spent.details.payerSignature).toBe(error.details.payerSignature);
    expect([payments(payer), await settledOf(payer), await held(payer)]).toEqual([
      1,
      1,
      1_000_000n - PRICE,
    ]);
  });

  it('is already spent in a repeated call when it settled after timeouts.payment', async () => {
    sandbox.controls.api.setSlowness(700);
    const payer = await holder({ timeouts: { payment: 250 } });
    const error = await failureOf(payer.client.fetch(url('/slow')), 'payment_uncertain');
    await told(payer, 'payment.settled');
    const spent = await failureOf(payer.client.fetch(url('/slow')), 'already_spent');
    expect(spent.details.payerSignature).toBe(error.details.payerSignature);
    expect([payments(payer), await settledOf(payer)]).toEqual([1, 1]);
  });

  it('frees the budget once the chain proves that it never settled', async () => {
    const payer = await holder();
    onPaid(payer, '/usdc', { kind: 'dropBefore' });
    await failureOf(payer.client.fetch(url('/usdc')), 'payment_uncertain');
    expect(await usedOf(payer)).toBe('0.01');
    sandbox.controls.node.warp();
    await told(payer, 'payment.unsettled');
    expect([await usedOf(payer), await settledOf(payer), await held(payer)]).toEqual([
      '0',
      0,
      1_000_000n,
    ]);
  });

  it('rejects with the swap in error.moved when a swap came before it', async () => {
    const payer = await payerOn(sandbox, { SOL: '0.1', BONK: '5000000' }, { autoSwap: true });
    onPaid(payer, '/usdc', { kind: 'dropBefore' });
    const error = await failureOf(payer.client.fetch(url('/usdc')), 'payment_uncertain');
    expect(error.funds).toBe('uncertain');
    expect(error.moved).toMatchObject([{ kind: 'swap', outputMint: sandbox.mints.USDC.address }]);
    expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
    expect(payer.signed.map(({ kind }) => kind)).toEqual(['swap', 'payment']);
  });
});

describe('an unusual answer to the paid request', () => {
  it('returns a 500, and the receipt becomes unsettled', async () => {
    const payer = await holder();
    const response = await payer.client.fetch(url('/fails'));
    expect([response.status, receiptOf(response)?.state]).toEqual([500, 'uncertain']);
    expect(await response.json()).toEqual({ error: 'out of order' });
    sandbox.controls.node.warp();
    await told(payer, 'payment.unsettled');
    expect(receiptOf(response)?.state).toBe('unsettled');
    expect([await usedOf(payer), await settledOf(payer)]).toEqual(['0', 0]);
  });

  it('returns a 303 without following it, and the payment settles', async () => {
    const payer = await holder();
    const response = await payer.client.fetch(url('/redirects'));
    expect([response.status, response.headers.get('location')]).toEqual([303, '/free']);
    await told(payer, 'payment.settled');
    expect(receiptOf(response)?.state).toBe('settled');
    expect(await held(payer)).toBe(1_000_000n - PRICE);
  });

  it.each([301, 302, 303, 307, 308])(
    'does not follow a %i to another origin with the payment',
    async (status) => {
      const payer = await holder();
      const elsewhere = await sellerOfTest(
        (_, response) => void response.writeHead(200).end('stolen'),
      );
      const seller = await sellerOfTest((request, response) => {
        if (isPaid(request))
          return void response.writeHead(status, { location: `${elsewhere.url}/` }).end();
        answerTerms(
          response,
          envelopeV2([entryV2({ payTo: sandbox.merchant, extra: { feePayer: sandbox.feePayer } })]),
        );
      });
      const response = await payer.client.fetch(seller.url);
      expect([response.status, receiptOf(response)?.state]).toEqual([status, 'uncertain']);
      expect(elsewhere.seen).toEqual([]);
      expect(seller.paid.length).toBe(1);
    },
  );

  it('makes the receipt follow the chain when a seller answers 200 and never settles', async () => {
    const payer = await holder();
    const claim = {
      success: true,
      transaction: '5'.repeat(88),
      network: 'solana',
      payer: payer.address,
    };
    const seller = await sellerOfTest((request, response) => {
      if (!isPaid(request)) {
        return answerTerms(
          response,
          envelopeV2([entryV2({ payTo: sandbox.merchant, extra: { feePayer: sandbox.feePayer } })]),
        );
      }
      response
        .writeHead(200, {
          'payment-response': Buffer.from(JSON.stringify(claim)).toString('base64'),
        })
        .end('thanks');
    });
    const response = await payer.client.fetch(seller.url);
    expect(receiptOf(response)).toMatchObject({
      state: 'pending',
      settlement: { success: true },
    });
    expect(receiptOf(response)?.payment.signature).toBeUndefined();
    sandbox.controls.node.warp();
    await told(payer, 'payment.unsettled');
    expect(receiptOf(response)?.state).toBe('unsettled');
    expect(await held(payer)).toBe(1_000_000n);
  });
});

describe('a purchase', () => {
  it('pays for each call without an idempotency key, even for equal parallel calls', async () => {
    const payer = await holder();
    const answers = await Promise.all([1, 2, 3].map(() => payer.client.fetch(url('/usdc'))));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
    expect([payments(payer), await settledOf(payer), await held(payer)]).toEqual([
      4,
      4,
      1_000_000n - 4n * PRICE,
    ]);
  });

  it('pays once for parallel calls with one idempotency key', async () => {
    const payer = await holder();
    const other = payer.again({});
    const buy = (client = payer.client) =>
      client.fetch(url('/usdc'), { idempotencyKey: 'order 1' });
    const outcomes = await Promise.allSettled([buy(), buy(other), buy(), buy(other)]);
    expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBe(1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') {
        expect(outcome.reason).toMatchObject({
          code: 'payment_in_progress',
          name: 'SettlementError',
          funds: 'uncertain',
          retry: 'same',
        });
      }
    }
    const spent = await failureOf(buy(), 'already_spent');
    expect(spent.funds).toBe('spent');
    expect([payments(payer), await settledOf(payer), await held(payer)]).toEqual([
      1,
      1,
      1_000_000n - PRICE,
    ]);
  });

  it('reads its key from a header or an option, and pays again under another key', async () => {
    const payer = await holder();
    const buy = (key: string) =>
      payer.client.fetch(url('/usdc'), { headers: { 'Idempotency-Key': key } });
    expect((await buy('a')).status).toBe(200);
    await failureOf(buy('a'), 'already_spent');
    await failureOf(payer.client.fetch(url('/usdc'), { idempotencyKey: 'a' }), 'already_spent');
    expect((await buy('b')).status).toBe(200);
    expect([payments(payer), await settledOf(payer)]).toEqual([2, 2]);
  });

  it('refuses another path, method or body under its key', async () => {
    const payer = await holder();
    const buy = (path: string, init: RequestInit = {}) =>
      payer.client.fetch(url(path), { ...init, idempotencyKey: 'order 5' });
    expect((await buy('/usdc')).status).toBe(200);
    for (const call of [
      () => buy('/memo'),
      () => buy('/usdc', { method: 'POST' }),
      () => buy('/usdc', { method: 'POST', body: 'x' }),
    ]) {
      const error = await failureOf(call(), 'idempotency_mismatch');
      expectUntouched(error);
      expect(error).toMatchObject({ name: 'ConfigError', retry: 'never' });
    }
    expect([payments(payer), await settledOf(payer)]).toEqual([1, 1]);
  });

  it('frees its key when the call fails before a signature', async () => {
    const payer = await payerOn(sandbox, { USDC: '0.005' });
    const buy = () => payer.client.fetch(url('/usdc'), { idempotencyKey: 'order 2' });
    await failureOf(buy(), 'insufficient_funds');
    const rich = await payerOn(sandbox, { USDC: '1' });
    sandbox.controls.node.fault('getLatestBlockhash', { kind: 'rateLimited', retryAfter: 60 });
    await failureOf(rich.client.fetch(url('/usdc'), { idempotencyKey: 'order 3' }), 'rate_limited');
    sandbox.controls.node.clearFaults();
    expect((await rich.client.fetch(url('/usdc'), { idempotencyKey: 'order 3' })).status).toBe(200);
    expect([payments(payer), payments(rich)]).toEqual([0, 1]);
  });

  it('presents the same payment under its key while that payment is uncertain', async () => {
    const payer = await holder();
    onPaid(payer, '/usdc', { kind: 'dropBefore' });
    const buy = () => payer.client.fetch(url('/usdc'), { idempotencyKey: 'order 4' });
    await failureOf(buy(), 'payment_uncertain');
    expect((await buy()).status).toBe(200);
    await failureOf(buy(), 'already_spent');
    expect([payments(payer), await settledOf(payer)]).toEqual([1, 1]);
  });
});

describe('an abort', () => {
  // `flow-many.test.ts` aborts at the other steps.
  it.each(['payment.chosen', 'payment.sent'] as const)(
    'rejects the call with its reason at %s, and nothing is signed twice',
    async (type) => {
      const payer = await payerOn(sandbox, { SOL: '0.1', BONK: '5000000' }, { autoSwap: true });
      const controller = new AbortController();
      const reason = { because: 'enough' };
      const stop = payer.client.on(type, () => controller.abort(reason));
      await expect(payer.client.fetch(url('/usdc'), { signal: controller.signal })).rejects.toBe(
        reason,
      );
      stop();
      const early = type === 'payment.chosen';
      expect(payments(payer)).toBe(early ? 0 : 1);
      // A payment that was not signed must not hold budget.
      if (early)
        await until('the budget is free', async () =>
          (await paidOf(payer.client)) === '0' ? true : undefined,
        );
      // The client follows a sent swap to its end.
      if (payer.signed.some(({ kind }) => kind === 'swap')) await told(payer, 'swap.confirmed');
      const outcome = await payer.client.fetch(url('/usdc')).then(
        ({ status }) => status,
        (error: unknown) => Reflect.get(Object(error), 'code') as unknown,
      );
      expect([200, 'already_spent']).toContain(outcome);
      expect(payer.signed.map(({ kind }) => kind)).toEqual(['swap', 'payment']);
      expect(await settledOf(payer)).toBe(1);
    },
  );

  it('rejects the call before any request when it comes before the call', async () => {
    const payer = await holder();
    const calls = sandbox.controls.api.calls();
    await expect(
      payer.client.fetch(url('/usdc'), { signal: AbortSignal.abort('no') }),
    ).rejects.toBe('no');
    expect([sandbox.controls.api.calls(), payer.events]).toEqual([calls, []]);
  });

  it('does not change a response that the caller has', async () => {
    const payer = await holder();
    const controller = new AbortController();
    const response = await payer.client.fetch(url('/usdc'), { signal: controller.signal });
    await response.text();
    controller.abort();
    await told(payer, 'payment.settled');
    expect(receiptOf(response)?.state).toBe('settled');
  });
});
