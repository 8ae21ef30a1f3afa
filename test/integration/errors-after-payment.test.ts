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
    // On a busy machine the limit may have come before the request reached the seller.
    sandbox.controls.api.clearFaults();
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
    expect(spent.message).toContain('Ask the seller');
    expect(spent.details.payerSignature).toBe(error.details.payerSignature);
    expect([payments(payer), await settledOf(payer), await held(payer)]).toEqual([
      1,
      1,
      1_000_000n - PRICE,
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
    expect(await (await buy('a')).text()).toContain('ok');
    const spent = await failureOf(buy('a'), 'already_spent');
    // The answer arrived, so the caller has nothing to ask the seller for.
    expect(spent.message).toContain('its answer was delivered');
    expect(spent.message).not.toContain('Ask the seller');
    await failureOf(payer.client.fetch(url('/usdc'), { idempotencyKey: 'a' }), 'already_spent');
    expect((await buy('b')).status).toBe(200);
    expect([payments(payer), await settledOf(payer)]).toEqual([2, 2]);
  });
});
