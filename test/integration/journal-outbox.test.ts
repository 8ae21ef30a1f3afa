import { memoryJournal, type ClientOptions, type WebhookEvent } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { withOutbox } from '../contract/outbox-contract.js';
import { until } from '../helpers/chain.js';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const usdc = () => `${sandbox.apiUrl}/usdc?secret=query`;
const HOLDER = { SOL: '0.1', USDC: '1' };
const SWAPPER = { SOL: '0.5', USDT: '5' };

/** A payer with the events that its journal told so far, and with a count of its writes. */
async function teller(funds: Parameters<typeof payerOn>[1], options: ClientOptions = {}) {
  const journal = withOutbox(memoryJournal({ outbox: true }));
  const puts: string[] = [];
  const counted: typeof journal = {
    ...journal,
    put: (attempt) => {
      puts.push(attempt.state);
      return journal.put(attempt);
    },
  };
  const payer = await payerOn(sandbox, funds, {
    journal: counted,
    autoSwap: true,
    swapFrom: ['USDT'],
    ...options,
  });
  const told: WebhookEvent[] = [];
  /** Returns events in the order of their writes, each once, up to the first event of a type. */
  const toldUntil = (last: WebhookEvent['type']) =>
    until(`${last} is told`, async () => {
      const jobs = await journal.outbox.take({
        limit: 100,
        leaseMs: Number.MAX_SAFE_INTEGER,
        now: Date.now(),
      });
      told.push(...jobs.map(({ event }) => event));
      return told.some(({ type }) => type === last) ? told : undefined;
    });
  return { payer, journal: counted, puts, toldUntil };
}

/** Loses the answer to the paid request. */
const losePaid = ({ client }: Payer) => {
  const stop = client.on('payment.sent', () => {
    stop();
    sandbox.controls.api.fault('/usdc', { kind: 'dropAfter', times: 1 });
  });
};

const typesOf = (events: readonly WebhookEvent[]) => events.map(({ type }) => type);
const signedSwaps = ({ events }: Payer) =>
  events.flatMap((event) => (event.type === 'swap.signed' ? [event.signature] : []));

describe('the events that a journal writes for a purchase', () => {
  it('reports the swap and the payment, without an additional write', async () => {
    const { payer, puts, toldUntil } = await teller(SWAPPER);
    const response = await payer.client.fetch(usdc());
    expect(response.status).toBe(200);
    await response.text();
    const told = await toldUntil('payment.settled');
    expect(typesOf(told)).toEqual(['swap.confirmed', 'payment.settled']);
    const [confirmed] = payer.events.filter((event) => event.type === 'swap.confirmed');
    const { signature, inAmount, outAmount, feeLamports } = confirmed ?? {};
    const { USDT, USDC } = sandbox.mints;
    expect(told[0]?.data).toMatchObject({
      signature,
      inAmount,
      outAmount,
      feeLamports,
      inputMint: USDT.address,
      outputMint: USDC.address,
    });
    const settled = payer.events.find((event) => event.type === 'payment.settled');
    const paid = settled?.receipt.payment;
    expect(told[1]?.data).toMatchObject({
      signature: paid?.signature,
      payerSignature: paid?.payerSignature,
      amount: paid?.amount,
    });
    expect(new Set(told.map(({ data }) => data.id))).toEqual(new Set([settled?.id]));
    expect(told.map(({ data }) => data.url)).toEqual([
      `${sandbox.apiUrl}/usdc`,
      `${sandbox.apiUrl}/usdc`,
    ]);
    // The signed swap, the signed payment, the answer, and the chain's word.
    expect(puts).toEqual(['reserved', 'signed', 'signed', 'settled']);
  });

  it('reports only the swap of a counted swap, which pays nothing', async () => {
    const { payer, toldUntil } = await teller({ SOL: '0.5' });
    const request = { inputMint: 'SOL', outputMint: 'USDC', uiAmount: '0.01' };
    await payer.client.swap(request, { counted: true });
    const { SOL, USDC } = sandbox.mints;
    expect(await toldUntil('swap.confirmed')).toMatchObject([
      { data: { url: `swap:${SOL.address}/${USDC.address}` } },
    ]);
  });

  it('reports once a first swap that never landed', async () => {
    const { payer, toldUntil } = await teller(SWAPPER);
    sandbox.controls.node.fault('sendTransaction', { kind: 'neverLands' });
    const off = payer.client.on('swap.signed', () => {
      off();
      const stop = payer.client.on('swap.failed', () => {
        stop();
        sandbox.controls.node.clearFaults();
      });
      sandbox.controls.node.warp();
    });
    expect((await payer.client.fetch(usdc())).status).toBe(200);
    const [first, second] = signedSwaps(payer);
    const told = await toldUntil('payment.settled');
    expect(told).toMatchObject([
      { type: 'swap.failed', data: { signature: first, code: 'swap_expired' } },
      { type: 'swap.confirmed', data: { signature: second } },
      { type: 'payment.settled' },
    ]);
  });

  it('reports the swap and the failed payment when the purchase fails after its swap', async () => {
    const journal = withOutbox(memoryJournal({ outbox: true }));
    const failing = {
      ...journal,
      put: (...args: Parameters<typeof journal.put>) =>
        args[0].state === 'signed' ? Promise.reject(new Error('ENOSPC')) : journal.put(...args),
    };
    const { payer } = await teller(SWAPPER, { journal: failing });
    await failureOf(payer.client.fetch(usdc()), 'journal_unavailable');
    const jobs = await journal.outbox.take({ limit: 10, leaseMs: 1, now: Date.now() });
    const [signature] = signedSwaps(payer);
    expect(jobs.map(({ event }) => event)).toMatchObject([
      { type: 'swap.confirmed', data: { signature } },
      { type: 'payment.failed' },
    ]);
  });

  it('reports the failed payment, then the swap, when the caller aborts meanwhile', async () => {
    const { payer, toldUntil } = await teller(SWAPPER);
    const controller = new AbortController();
    payer.client.on('swap.signed', () => controller.abort('enough'));
    await expect(payer.client.fetch(usdc(), { signal: controller.signal })).rejects.toBe('enough');
    const told = await toldUntil('swap.confirmed');
    expect(typesOf(told)).toEqual(['payment.failed', 'swap.confirmed']);
    expect(told[1]?.data).toMatchObject({ signature: signedSwaps(payer)[0] });
  });

  it('reports each event once when the next purchase completes the swap', async () => {
    const { payer, journal, toldUntil } = await teller(SWAPPER);
    sandbox.controls.node.fault('sendTransaction', { kind: 'neverLands' });
    const signed: Promise<unknown> = new Promise((resolve) =>
      payer.client.on('swap.signed', resolve),
    );
    const call = failureOf(payer.client.fetch(usdc()), 'swap_uncertain');
    await signed;
    await payer.client.close();
    await call;
    sandbox.controls.node.clearFaults();
    expect(
      (await payer.again({ journal, autoSwap: true, swapFrom: ['USDT'] }).fetch(usdc())).status,
    ).toBe(200);
    const told = await toldUntil('payment.settled');
    expect(typesOf(told)).toEqual(['payment.failed', 'swap.confirmed', 'payment.settled']);
    expect(told[0]?.data.id).toBe(told[1]?.data.id);
    expect(told[2]?.data.id).not.toBe(told[0]?.data.id);
  });

  it.each([
    ['was lost', 'payment_uncertain', losePaid],
    [
      'was a second 402',
      'payment_rejected',
      (_: Payer) => sandbox.controls.facilitator.fault('/settle', { kind: 'dropAfter', times: 1 }),
    ],
  ] as const)(
    'reports an uncertain payment, before the chain decides, when the answer %s',
    async (_, code, fault) => {
      const { payer, toldUntil } = await teller(HOLDER);
      fault(payer);
      await failureOf(payer.client.fetch(usdc()), code);
      const told = await toldUntil('payment.settled');
      expect(typesOf(told)).toEqual(['payment.uncertain', 'payment.settled']);
      expect(told[0]).toMatchObject({ data: { code } });
    },
  );

  it('gives the caller the payment error when the uncertain state cannot be written', async () => {
    const journal = withOutbox(memoryJournal({ outbox: true }));
    const failing = {
      ...journal,
      put: (...args: Parameters<typeof journal.put>) =>
        args[0].doubt !== undefined && args[0].state === 'signed'
          ? Promise.reject(new Error('ENOSPC'))
          : journal.put(...args),
    };
    const { payer } = await teller(HOLDER, { journal: failing });
    losePaid(payer);
    await failureOf(payer.client.fetch(usdc()), 'payment_uncertain');
  });

  it('reports a failed purchase that never signed', async () => {
    const { payer, toldUntil } = await teller(HOLDER, { policy: { approve: () => false } });
    await failureOf(payer.client.fetch(usdc()), 'approval_refused');
    const [event] = await toldUntil('payment.failed');
    expect(event?.data).not.toHaveProperty('payerSignature');
  });
});
