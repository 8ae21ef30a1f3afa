import { memoryJournal, remote, settled, type Journal } from 'exact-change';
import { describe, expect, it, onTestFinished } from 'vitest';
import { storedOf } from '../helpers/attempts.js';
import { buyerOf, startService, untilState, type Buyer } from '../helpers/auto-pay.js';
import { until } from '../helpers/chain.js';
import { payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const serve = (journal: Journal) => startService(sandbox, journal);

const usdc = (query = '') => `${sandbox.apiUrl}/usdc${query}`;

const advice = {
  signedSwap: 'Plan this one without it.',
  signedPayment: 'It may have paid already: look at the transactions of the wallet',
};

const refusalOf = (option: keyof typeof advice, more: object) => ({
  status: 400,
  body: {
    code: 'invalid_option',
    detail: expect.stringContaining(`on record for another purchase. ${advice[option]}`),
    details: { option },
    ...more,
  },
});

/** A purchase at a service, and others of the same wallet: no signed bytes are for two of them. */
async function purchases(funds: Parameters<typeof sandbox.createWallet>[0]) {
  const journal = memoryJournal();
  const service = await serve(journal);
  const wallet = await sandbox.createWallet(funds);
  const [mine, other] = await Promise.all([
    buyerOf(wallet, usdc('?a'), { idempotencyKey: 'order-a' }),
    buyerOf(wallet, usdc('?b'), { idempotencyKey: 'order-b' }),
  ]);
  const others: readonly ((bytes: object) => ReturnType<Buyer['post']>)[] = [
    (bytes) => other.post(service, bytes),
    (bytes) => other.post(service, { ...bytes, idempotencyKey: 'order-a' }),
    (bytes) => mine.post(service, { ...bytes, idempotencyKey: 'order-b' }),
    (bytes) => other.post(service, { ...bytes, idempotencyKey: undefined }),
  ];
  return { journal, service, wallet, mine, other, others };
}

describe('signed bytes that are on record for another purchase', () => {
  it('are refused as a swap, before and after that purchase is paid', async () => {
    const { journal, service, wallet, mine, other, others } = await purchases({ SOL: '0.5' });
    const signedSwap = await mine.sign((await mine.post(service)).body.swap?.transaction);
    const swapped = await untilState('ready_to_sign', () => mine.post(service, { signedSwap }));
    const [{ id, swap: { signature = '' } = {} } = {}] = await storedOf(journal, wallet);
    const landed = refusalOf('signedSwap', {
      funds: 'swapped',
      moved: [{ kind: 'swap', signature }],
    });
    for (const post of others) expect(await post({ signedSwap })).toMatchObject(landed);
    // A plan without the key could not complete the purchase.
    const keyless = { signedSwap, idempotencyKey: undefined };
    expect(await mine.post(service, keyless)).toMatchObject(landed);
    const { paymentRequired } = other;
    await expect(
      remote(service.url).autoPay({ paymentRequired, wallet: wallet.address, signedSwap }),
    ).rejects.toMatchObject({
      ...{ code: 'invalid_option', funds: 'swapped', retry: 'never' },
      moved: [{ kind: 'swap', signature }],
    });
    // The tokens are in the wallet, so a plan finds them. It is not the plan of the attempt.
    const planned = await other.post(service);
    expect([planned.body.state, planned.body.id]).toEqual(['ready_to_sign', undefined]);

    const signedPayment = await mine.sign(swapped.body.payment?.transaction);
    const ready = await mine.post(service, { signedPayment });
    expect((await mine.present(ready)).status).toBe(200);
    await untilState('settled', () => mine.post(service, { signedPayment }));
    for (const post of others) expect(await post({ signedSwap })).toMatchObject(landed);
    expect((await mine.post(service, { signedSwap })).body).toMatchObject({ state: 'settled', id });
    expect(await storedOf(journal, wallet)).toHaveLength(1);
  });

  it('are refused as a swap that may still land', async () => {
    const { journal, service, wallet, mine, others } = await purchases({ SOL: '0.5' });
    const signedSwap = await mine.sign((await mine.post(service)).body.swap?.transaction);
    onTestFinished(sandbox.controls.node.fault('sendTransaction', { kind: 'dropBefore' }));
    const posted = mine.post(service, { signedSwap });
    await until('it is on record', async () => (await storedOf(journal, wallet))[0]);
    for (const post of others)
      expect(await post({ signedSwap })).toMatchObject(
        refusalOf('signedSwap', { funds: 'uncertain', moved: [] }),
      );
    sandbox.controls.node.warp();
    const ended = { code: 'swap_expired', funds: 'untouched' };
    expect((await posted).body).toMatchObject(ended);
    for (const post of others) expect((await post({ signedSwap })).body).toMatchObject(ended);
  });

  it('are refused as a payment, also without a key', async () => {
    const { service, mine, others } = await purchases({ USDC: '1' });
    const signedPayment = await mine.sign((await mine.post(service)).body.payment?.transaction);
    const ready = await mine.post(service, { signedPayment });
    expect((await mine.present(ready)).status).toBe(200);
    await untilState('settled', () => mine.post(service, { signedPayment }));
    for (const post of others)
      expect(await post({ signedPayment })).toMatchObject(
        refusalOf('signedPayment', { funds: 'uncertain', retry: 'never' }),
      );
  });

  it('are refused as a payment with a record that failed half-way', async () => {
    const kept = memoryJournal();
    const failing = new Set<string>();
    const once = <T>(name: string, call: () => Promise<T>) =>
      failing.delete(name) ? Promise.reject(new Error(`${name} fails`)) : call();
    const journal: Journal = {
      ...kept,
      put: (...args) => once('put', () => kept.put(...args)),
      release: (id) => once('release', () => kept.release(id)),
    };
    const service = await serve(journal);
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const [mine, other] = [await buyerOf(wallet, usdc('?a')), await buyerOf(wallet, usdc('?b'))];
    const signed = async () => mine.sign((await mine.post(service)).body.payment?.transaction);
    // The service follows an open payment, so it takes no reservation up anew.
    const followed = await mine.post(service, { signedPayment: await signed() });
    expect(followed.body.state).toBe('ready_to_present');
    const signedPayment = await signed();
    failing.add('put').add('release');
    expect((await mine.post(service, { signedPayment })).body).toMatchObject({
      ...{ code: 'journal_unavailable', funds: 'uncertain', retry: 'same' },
    });
    expect(await other.post(service, { signedPayment })).toMatchObject(
      refusalOf('signedPayment', { funds: 'uncertain', retry: 'never' }),
    );
    expect((await mine.post(service, { signedPayment })).body.state).toBe('ready_to_present');
  });
});

describe('a swapped purchase with changed terms', () => {
  /** Returns a buyer with a landed swap, and what the seller may ask for by now. */
  async function swapped(fixed: object) {
    const journal = memoryJournal();
    const service = await serve(journal);
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const mine = await buyerOf(wallet, usdc('?a'), fixed);
    const signedSwap = await mine.sign((await mine.post(service)).body.swap?.transaction);
    const { body } = await untilState('ready_to_sign', () => mine.post(service, { signedSwap }));
    const { headers } = mine.paymentRequired;
    const terms = Buffer.from(headers['payment-required'] ?? '', 'base64').toString();
    const changedTo = (amounts: readonly string[]) => {
      const { accepts, ...rest } = JSON.parse(terms) as { accepts: [{ amount: string }] };
      const changed = amounts.map((amount) => ({ ...accepts[0], amount }));
      const text = JSON.stringify({ ...rest, accepts: changed });
      return {
        ...mine.paymentRequired,
        headers: { ...headers, 'payment-required': Buffer.from(text).toString('base64') },
      };
    };
    return { journal, service, wallet, mine, signedSwap, id: body.id, changedTo };
  }

  it('is planned anew without a key, and the plan has no id of the swap', async () => {
    const { journal, service, wallet, mine, signedSwap, id, changedTo } = await swapped({});
    expect((await mine.post(service, { signedSwap })).body.id).toBe(id);
    const paymentRequired = changedTo(['10001']);
    const planned = (await mine.post(service, { signedSwap, paymentRequired })).body;
    expect([planned.state, planned.id]).toEqual(['ready_to_sign', undefined]);
    const signedPayment = await mine.sign(planned.payment?.transaction);
    const ready = await mine.post(service, { signedPayment, paymentRequired });
    expect(ready.body.state).toBe('ready_to_present');
    expect(await storedOf(journal, wallet)).toHaveLength(2);
  });

  it('is planned under a key as its swap was, though a lower price is offered too', async () => {
    const { mine, service, signedSwap, id, changedTo } = await swapped({
      idempotencyKey: 'order-a',
    });
    const paymentRequired = changedTo(['10000', '9999']);
    const { body } = await mine.post(service, { signedSwap, paymentRequired });
    expect([body.state, body.id, body.offer.amount]).toEqual(['ready_to_sign', id, '10000']);
    const signedPayment = await mine.sign(body.payment?.transaction);
    const ready = await mine.post(service, { signedPayment, paymentRequired });
    expect([ready.body.state, ready.body.id]).toEqual(['ready_to_present', id]);
  });

  it('is not planned under a key if its own terms are gone', async () => {
    const { journal, service, wallet, mine, signedSwap, id, changedTo } = await swapped({
      idempotencyKey: 'order-a',
    });
    const [{ swap: { signature = '' } = {} } = {}] = await storedOf(journal, wallet);
    const paymentRequired = changedTo(['10001']);
    const taken = {
      status: 409,
      body: {
        code: 'idempotency_mismatch',
        detail: expect.stringContaining('was begun under this idempotencyKey'),
      },
    };
    const withSwap = await mine.post(service, { signedSwap, paymentRequired });
    expect(withSwap).toMatchObject(taken);
    expect(withSwap.body).toMatchObject({
      funds: 'swapped',
      moved: [{ kind: 'swap', signature }],
    });
    expect(await mine.post(service, { paymentRequired })).toMatchObject(taken);
    const { state, id: planned } = (await mine.post(service)).body;
    expect([state, planned]).toEqual(['ready_to_sign', id]);
  });
});

it('answers with the payment of the key after a swap that another service sent', async () => {
  const service = await serve(memoryJournal());
  const forgetful = await startService(sandbox, undefined);
  const wallet = await sandbox.createWallet({ SOL: '0.5', USDC: '1' });
  const mine = await buyerOf(wallet, usdc('?a'), { idempotencyKey: 'order-a' });
  const signedPayment = await mine.sign((await mine.post(service)).body.payment?.transaction);
  const ready = await mine.post(service, { signedPayment });
  expect((await mine.present(ready)).status).toBe(200);
  const { body } = await untilState('settled', () => mine.post(service, { signedPayment }));

  const { swap } = (await mine.post(forgetful, { swapAmount: '50000' })).body;
  const signedSwap = await mine.sign(swap?.transaction);
  await untilState('ready_to_sign', () => mine.post(forgetful, { signedSwap }));
  expect((await mine.post(service, { signedSwap })).body).toEqual(body);
});

describe('a swap of a client that shares journal and wallet with the service', () => {
  /** Returns a client, and the bytes of the swap that it sends first. */
  async function clientOf(
    journal: Journal,
    beforeCall: (url: string) => unknown = () => undefined,
  ) {
    let give: (bytes: string) => void;
    const sent = new Promise<string>((resolve) => (give = resolve));
    const seen: typeof fetch = async (input, init) => {
      const { url } = new Request(input);
      const [bytes] =
        /(?<="sendTransaction".*?")[A-Za-z0-9+/=]{100,}/.exec(String(init?.body)) ?? [];
      if (bytes !== undefined) give(bytes);
      await beforeCall(url);
      return fetch(input, init);
    };
    const payer = await payerOn(sandbox, { SOL: '0.5' }, { autoSwap: true, journal, fetch: seen });
    return { payer, sent };
  }

  it.each([undefined, 'order-b'])('is refused once it has paid, under key %s', async (key) => {
    const journal = memoryJournal();
    const service = await serve(journal);
    const { payer, sent } = await clientOf(journal);
    const response = await payer.client.fetch(usdc());
    await response.text();
    expect((await settled(response))?.state).toBe('settled');
    for (const url of [usdc(), usdc('?b')]) {
      const buyer = await buyerOf(payer, url, { idempotencyKey: key });
      expect(await buyer.post(service, { signedSwap: await sent })).toMatchObject(
        refusalOf('signedSwap', { funds: 'swapped' }),
      );
    }
  });

  it('stays with its client after it failed, so that the next swap pays', async () => {
    const { aggregator } = sandbox.controls;
    onTestFinished(() => aggregator.setVenue({ deviationBps: 0 }));
    const journal = memoryJournal();
    const service = await serve(journal);
    let answer: ReturnType<Buyer['post']> | undefined;
    const { payer, sent } = await clientOf(journal, async (url) => {
      // The client asks for its next quote, and meanwhile a stranger posts the bytes of its swap.
      if (!url.startsWith(sandbox.jupiterUrl) || !hasFailed()) return;
      aggregator.setVenue({ deviationBps: 0 });
      answer ??= buyer.post(service, { signedSwap: await sent });
      await answer;
    });
    const hasFailed = () => payer.events.some(({ type }) => type === 'swap.failed');
    const buyer = await buyerOf(payer, usdc());
    void sent.then(() => aggregator.setVenue({ deviationBps: 80 }));
    expect((await payer.client.fetch(usdc())).status).toBe(200);
    expect(await answer).toMatchObject(refusalOf('signedSwap', { funds: 'uncertain' }));
    expect(await storedOf(journal, payer)).toHaveLength(1);
  });

  it('is not recorded a second time before it has landed', async () => {
    const journal = memoryJournal();
    const service = await serve(journal);
    const { payer, sent } = await clientOf(journal);
    const clear = sandbox.controls.node.fault('sendTransaction', { kind: 'dropBefore' });
    onTestFinished(clear);
    const paid = payer.client.fetch(usdc());
    const [signedSwap, before] = [await sent, await storedOf(journal, payer)];
    const buyer = await buyerOf(payer, usdc());
    const { body } = await buyer.post(service, { signedSwap });
    expect(await storedOf(journal, payer)).toEqual(before);
    clear();
    expect((await paid).status).toBe(200);
    expect(body).toMatchObject(refusalOf('signedSwap', { funds: 'uncertain' }).body);
  });
});
