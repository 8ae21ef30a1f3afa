import type { ClientEvent, ClientOptions } from 'exact-change';
import type { MintSymbol } from 'exact-change-sandbox';
import { describe, expect, it } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { storedOf } from '../helpers/attempts.js';
import { until } from '../helpers/chain.js';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest } from '../helpers/seller.js';
import { offerOf, settle } from '../helpers/settling.js';
import { silenceable, type Step, type Work } from '../helpers/silent-journal.js';
import { paidOf } from '../helpers/worth.js';

// A journal that stops answering: a caller that aborts must not wait for it, and the next equal call
// must find what the aborted call left. `timeouts.journal` is 10 s, so no answer comes from it here.

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });

type Funds = Partial<Record<MintSymbol, string>>;
const HOLDER: Funds = { USDC: '1' };
const SWAPPER: Funds = { SOL: '0.1', BONK: '5000000' };
const usdc = () => `${sandbox.apiUrl}/usdc`;
const kinds = ({ signed }: Payer) => signed.map(({ kind }) => kind);
const reason = new Error('enough');

async function silenceablePayer(funds: Funds, options: ClientOptions = {}) {
  const silent = silenceable();
  const payer = await payerOn(sandbox, funds, { ...options, journal: silent.journal });
  const late: string[] = [];
  payer.client.on('journal.called', ({ step, failed }) => {
    if (failed !== undefined) late.push(step);
  });
  const controller = new AbortController();
  return {
    ...silent,
    ...{ payer, signal: controller.signal, abort: () => controller.abort(reason) },
    /** Expects the reason of the signal before any step of the journal has come to its time limit. */
    async expectAbort(call: Promise<unknown>) {
      await expect(call).rejects.toBe(reason);
      expect(late).toEqual([]);
    },
  };
}

interface Row {
  readonly steps: readonly Step[];
  /** The event from which on the journal is silent. Default: it is silent from the start. */
  readonly from?: ClientEvent['type'];
  /** The event at which the caller aborts. Default: when the journal is first silent. */
  readonly abortAt?: ClientEvent['type'];
  readonly funds?: Funds;
  /** The answers of `policy.approve`. */
  readonly answers?: boolean[];
}

const ALL: readonly Step[] = [
  ...(['reserve', 'put', 'raise', 'release', 'similar', 'attempts', 'used'] as const),
  ...(['available', 'take', 'forget', 'claim', 'drop', 'live'] as const),
];
const ROWS: readonly Row[] = [
  { steps: ['attempts'] },
  { steps: ['similar'] },
  { steps: ['available'] },
  { steps: ['reserve'] },
  { steps: ['take'] },
  { steps: ['put'] },
  { steps: ['used'], answers: [true, true] },
  { steps: ['release'], answers: [false, true] },
  { steps: ALL, from: 'payment.chosen' },
  { steps: ['reserve'], abortAt: 'payment.chosen' },
  { steps: ['take'], abortAt: 'payment.chosen' },
  { steps: ['put'], abortAt: 'payment.chosen' },
  { steps: ['release'], abortAt: 'payment.chosen' },
  { steps: ['raise'], funds: SWAPPER },
  { steps: ['put'], funds: SWAPPER },
];
const titleOf = ({ steps, funds, abortAt }: Row, work: Work): string =>
  [
    steps === ALL ? 'all steps' : steps.join(),
    ...(funds === SWAPPER ? ['of a swap'] : []),
    ...(abortAt === undefined ? [] : [`and an abort at ${abortAt}`]),
    `with its work ${work}`,
  ].join(' ');
const CASES = ROWS.flatMap((row) =>
  (['late', 'done'] as const).map((work) => [titleOf(row, work), row, work] as const),
);

describe('a caller that aborts while the journal is silent', () => {
  it.each(CASES)(
    'gets the reason of its signal, and the next call pays once: %s',
    async (_, { steps, from, abortAt, funds = HOLDER, answers }, work) => {
      const approvals = [...(answers ?? [])];
      const approve = () => Promise.resolve(approvals.shift() === true);
      const { payer, silence, speak, signal, abort, expectAbort } = await silenceablePayer(funds, {
        autoSwap: true,
        ...(answers === undefined ? {} : { policy: { approve } }),
      });
      const start = () =>
        silence(
          (step) => steps.includes(step),
          work,
          abortAt === undefined ? abort : () => undefined,
        );
      if (from === undefined) start();
      const stops = [
        ...(from === undefined ? [] : [payer.client.on(from, start)]),
        ...(abortAt === undefined ? [] : [payer.client.on(abortAt, abort)]),
      ];
      await expectAbort(payer.client.fetch(usdc(), { signal }));
      for (const stop of stops) stop();
      // The next call waits until the reservation is rolled back, or the payment is on record.
      const next = payer.client.fetch(usdc());
      speak();
      const response = await next;
      expect(response.status).toBe(200);
      await response.text();
      expect(kinds(payer)).toEqual(funds === SWAPPER ? ['swap', 'payment'] : ['payment']);
      expect(payer.events.filter(({ type }) => type === 'payment.sent')).toHaveLength(1);
      expect(await paidOf(payer.client)).toBe('0.01');
    },
  );

  it.each<[string, (step: Step, calls: number) => boolean]>([
    ['its claims', (step) => step === 'live'],
    ['the earlier payments once more', (step, calls) => step === 'similar' && calls === 2],
    ['a claim on it', (step) => step === 'claim'],
  ])('does not wait for %s when an earlier call left a payment', async (_, isSilent) => {
    const { payer, silence, speak, signal, abort, expectAbort } = await silenceablePayer(HOLDER);
    const first = new AbortController();
    const stop = payer.client.on('payment.sent', () => first.abort(reason));
    await expect(payer.client.fetch(usdc(), { signal: first.signal })).rejects.toBe(reason);
    stop();
    let similar = 0;
    silence((step) => isSilent(step, (similar += step === 'similar' ? 1 : 0)), 'late', abort);
    await expectAbort(payer.client.fetch(usdc(), { signal }));
    const next = payer.client.fetch(usdc());
    speak();
    expect((await next).status).toBe(200);
    expect(kinds(payer)).toEqual(['payment']);
    expect(await paidOf(payer.client)).toBe('0.01');
  });

  it('does not wait for the look at orphaned attempts that fill a cap', async () => {
    const { payer, inner, silence, speak, signal, abort, expectAbort } = await silenceablePayer(
      HOLDER,
      {
        policy: { maxPerDay: '0.025' },
      },
    );
    await (await payer.client.fetch(usdc())).text();
    const [paid] = await storedOf(inner, payer);
    if (paid === undefined) throw new Error('The payment is not on record.');
    const { payment: _payment, receipt: _receipt, ...rest } = paid;
    await inner.reserve({ ...rest, id: 'orphan', state: 'reserved', delivered: false }, []);
    silence((step) => step === 'attempts', 'late', abort);
    await expectAbort(payer.client.fetch(usdc(), { signal }));
    const next = payer.client.fetch(usdc());
    speak();
    expect((await next).status).toBe(200);
    expect(kinds(payer)).toEqual(['payment', 'payment']);
    expect(await paidOf(payer.client)).toBe('0.02');
  });

  it('does not wait for the record of a balance when the seller refuses the payment', async () => {
    const terms = envelopeV2([offerOf(sandbox)]);
    const seller = await sellerOfTest((_, response) => answerTerms(response, terms));
    const { payer, silence, speak, signal, abort, expectAbort } = await silenceablePayer(HOLDER);
    silence((step) => step === 'forget', 'late', abort);
    await expectAbort(payer.client.fetch(seller.url, { signal }));
    const next = payer.client.fetch(seller.url);
    speak();
    await failureOf(next, 'payment_rejected');
    expect(kinds(payer)).toEqual(['payment']);
  });

  it('does not wait for the note that it heard of a spent payment, and hears of it later', async () => {
    const terms = envelopeV2([offerOf(sandbox)]);
    const seller = await sellerOfTest((request, response) => {
      if (isPaid(request)) void settle(sandbox, request).then(() => request.socket.destroy());
      else answerTerms(response, terms);
    });
    const { payer, inner, silence, speak, signal, abort, expectAbort } =
      await silenceablePayer(HOLDER);
    const order = { method: 'POST', body: 'one' };
    await failureOf(payer.client.fetch(seller.url, order), 'payment_uncertain');
    await until('the payment is settled', async () => {
      const [attempt] = await storedOf(inner, payer);
      return attempt?.state === 'settled' || undefined;
    });
    silence((step) => step === 'put', 'late', abort);
    await expectAbort(payer.client.fetch(seller.url, { ...order, signal }));
    const next = payer.client.fetch(seller.url, order);
    speak();
    await failureOf(next, 'already_spent');
    expect(kinds(payer)).toEqual(['payment']);
  });

  it.each<Step>(['reserve', 'raise', 'release'])(
    'does not wait for %s of a counted swap, and the swap keeps no budget',
    async (silentStep) => {
      const { payer, silence, speak, signal, abort, expectAbort } = await silenceablePayer(SWAPPER);
      const request = {
        inputMint: sandbox.mints.BONK.address,
        outputMint: 'USDC',
        amount: '100000000000',
      };
      const stop = payer.client.on('swap.quoted', () => {
        if (silentStep === 'release') abort();
      });
      silence((step) => step === silentStep, 'late', abort);
      await expectAbort(payer.client.swap(request, { counted: true, signal }));
      stop();
      const next = payer.client.fetch(usdc());
      speak();
      await failureOf(next, 'insufficient_funds');
      expect(kinds(payer)).toEqual([]);
      expect(await paidOf(payer.client)).toBe('0');
    },
  );

  it('does not wait for the use of the caps in a plan', async () => {
    const { payer, silence, speak, signal, abort, expectAbort } = await silenceablePayer(HOLDER);
    silence((step) => step === 'used', 'late', abort);
    await expectAbort(payer.client.plan(usdc(), { signal }));
    speak();
  });

  it('leaves its budget to any other payment, which waits until it is free', async () => {
    const { payer, silence, speak, signal, abort, expectAbort } = await silenceablePayer(HOLDER, {
      policy: { maxPerDay: '0.015' },
    });
    const terms = await fetch(usdc());
    silence((step) => step === 'reserve', 'done', abort);
    await expectAbort(payer.client.fetch(usdc(), { signal }));
    const other = payer.client.pay(terms);
    speak();
    await other;
    expect(kinds(payer)).toEqual(['payment']);
    expect(await paidOf(payer.client)).toBe('0.01');
  });

  it('gets the header of a payment while the claims on it are still being dropped', async () => {
    const { payer, silence, speak, signal, abort } = await silenceablePayer(HOLDER);
    const terms = await fetch(usdc());
    silence((step) => step === 'drop', 'late', abort);
    const { header } = await payer.client.pay(terms, { signal });
    speak();
    expect((await fetch(usdc(), { headers: { [header.name]: header.value } })).status).toBe(200);
    expect(kinds(payer)).toEqual(['payment']);
  });
});
