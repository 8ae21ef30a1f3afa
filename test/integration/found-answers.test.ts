import { setImmediate, setTimeout } from 'node:timers/promises';
import { memoryJournal, type Attempt, type Coordination, type Journal } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { withCoordination, createCoordination } from '../../src/journal/registry.js';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { storedOf } from '../helpers/attempts.js';
import { landed, until } from '../helpers/chain.js';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, type Seller, sellerOfTest } from '../helpers/seller.js';
import { answer, offerOf, settle, settlementHeader } from '../helpers/settling.js';
import { signedOf, timesSpent } from '../helpers/spends.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const post = { method: 'POST', body: 'x' };
const terms = () => envelopeV2([offerOf(sandbox)]);
const holder = (journal: Journal = memoryJournal()) => payerOn(sandbox, { USDC: '1' }, { journal });

/** A seller that settles a payment, sends half of its answer, and disconnects at `cut`. */
async function halving(): Promise<{ readonly seller: Seller; cut(): Promise<void> }> {
  const cuts: (() => void)[] = [];
  const seller = await sellerOfTest((request, response) => {
    if (!isPaid(request)) return answerTerms(response, terms());
    void settle(sandbox, request).then((settled) => {
      response.writeHead(200, { 'content-length': '1000', ...settlementHeader({ ...settled }) });
      response.write('half of it');
      cuts.push(() => request.socket.destroy());
    });
  });
  return {
    seller,
    cut: async () => (await until('half of the answer was sent', () => cuts.shift()))(),
  };
}

/** A journal in memory with this coordination. */
const journalWith = (shared: Coordination): Journal => ({
  ...withCoordination(memoryJournal(), shared),
  coordination: () => shared,
});

/** A journal with writes that wait for the promise of `isSlow`. */
function slow(isSlow: (attempt: Attempt) => Promise<void> | undefined): Journal {
  const journal = memoryJournal();
  return {
    ...journal,
    put: async (attempt) => {
      await isSlow(attempt);
      await journal.put(attempt);
    },
  };
}

/** Reads the body to its end and returns the error of its stream. */
async function brokenOff({ body }: Response): Promise<unknown> {
  const reader = body?.getReader();
  for (;;) {
    try {
      if ((await reader?.read())?.done !== false) return undefined;
    } catch (error) {
      return error;
    }
  }
}

/** Expects that the repeated call is refused as already spent, and that one payment landed. */
async function isPaidOnce(payer: Payer, seller: Seller): Promise<void> {
  await failureOf(payer.client.fetch(seller.url, post), 'already_spent');
  expect([
    signedOf(payer, 'payment'),
    seller.paid.length,
    await timesSpent(sandbox, payer, 'USDC'),
  ]).toEqual([1, 1, 1]);
}

describe('a paid call with a body that breaks off', () => {
  it('is paid once when the journal is slow to record it', async () => {
    const payer = await holder(
      slow(({ receipt, delivered }) =>
        receipt?.settlement !== undefined && !delivered ? setTimeout(200) : undefined,
      ),
    );
    const { seller, cut } = await halving();
    const response = await payer.client.fetch(seller.url, post);
    await cut();
    await expect(response.text()).rejects.toThrow();
    await isPaidOnce(payer, seller);
  });

  it('is paid once while an earlier write of its attempt is in progress', async () => {
    let begin = (): void => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const journal = slow(({ state }) => {
      if (state !== 'settled') return undefined;
      begin();
      return ended;
    });
    const payer = await holder(journal);
    const { seller, cut } = await halving();
    const response = await payer.client.fetch(seller.url, post);
    await begun;
    const copy = Response.prototype.clone.call(response);
    const reading = expect(response.text()).rejects.toThrow();
    await cut();
    // The plain copy breaks together with the response and waits for no write. A write that did
    // not wait for the earlier write would end in the next turn of the event loop.
    await expect(brokenOff(copy)).resolves.toBeInstanceOf(Error);
    await setImmediate();
    end();
    await reading;
    await until(
      'the journal has the settled payment',
      async () =>
        (await storedOf(journal, payer)).some(({ state }) => state === 'settled') || undefined,
    );
    expect(await storedOf(journal, payer)).toMatchObject([{ state: 'settled', delivered: false }]);
    await isPaidOnce(payer, seller);
  });

  it('is paid once when a clone of the response was read', async () => {
    const payer = await holder();
    const { seller, cut } = await halving();
    const response = await payer.client.fetch(seller.url, post);
    await cut();
    await expect(response.clone().text()).rejects.toThrow();
    await isPaidOnce(payer, seller);
  });

  it.each(['TimeoutError', 'AbortError'])(
    'is paid once when its caller aborts with a %s',
    async (name) => {
      const payer = await holder();
      const { seller } = await halving();
      const caller = new AbortController();
      const response = await payer.client.fetch(seller.url, { ...post, signal: caller.signal });
      const reading = expect(response.text()).rejects.toMatchObject({ name });
      caller.abort(new DOMException('The caller no longer waits.', name));
      await reading;
      await isPaidOnce(payer, seller);
    },
  );
});

describe('a repeated call with a claim that arrives too late', () => {
  it('leaves the payment to the next repeated call, which signs no second payment', async () => {
    const coordination = createCoordination();
    const { claims } = coordination;
    let late: Promise<void> | undefined;
    let arrived: Promise<void> | undefined;
    const take = (ids: readonly string[]) => {
      const claim = async () => {
        await late;
        await claims.take(ids);
      };
      return (arrived = claim());
    };
    const journal = journalWith({ ...coordination, claims: { ...claims, take } });
    const payer = await payerOn(sandbox, { USDC: '1' }, { journal, timeouts: { journal: 500 } });
    const seller = await sellerOfTest((request, response) => {
      if (!isPaid(request)) return answerTerms(response, terms());
      request.socket.destroy();
    });
    await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
    let arrive = (): void => undefined;
    late = new Promise((resolve) => (arrive = resolve));
    await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
    arrive();
    await arrived;
    late = undefined;
    await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
    expect([signedOf(payer, 'payment'), seller.paid.length]).toEqual([1, 2]);
  });
});

describe('a repeated call that presents a settled payment in vain', () => {
  it.each([
    ['its answer is lost too', false],
    ['the journal fails to claim it', true],
  ])('reports the payment, and funds as spent, when %s', async (_, fails) => {
    const coordination = createCoordination();
    const { claims } = coordination;
    let isDown = false;
    const take = (ids: readonly string[]) =>
      isDown ? Promise.reject(new Error('The disk is full.')) : claims.take(ids);
    const payer = await holder(journalWith({ ...coordination, claims: { ...claims, take } }));
    const seller = await sellerOfTest((request, response) => {
      if (!isPaid(request)) return answerTerms(response, terms());
      void settle(sandbox, request).then(() => request.socket.destroy());
    });
    const init = { ...post, repeatable: true };
    await failureOf(payer.client.fetch(seller.url, init), 'payment_uncertain');
    await until('the payment is settled', () =>
      payer.events.some(({ type }) => type === 'payment.settled') ? true : undefined,
    );
    isDown = fails;
    const lost = await failureOf(payer.client.fetch(seller.url, init), 'payment_uncertain');
    expect(lost).toMatchObject({ funds: 'spent', moved: [{ kind: 'payment', inAmount: '10000' }] });
    const { signatures } = await landed(sandbox.rpcUrl, lost.moved[0]?.signature ?? '');
    expect(signatures).toContain(lost.details.payerSignature);
    expect([
      signedOf(payer, 'payment'),
      seller.paid.length,
      await timesSpent(sandbox, payer, 'USDC'),
    ]).toEqual([1, fails ? 1 : 2, 1]);
  });
});

describe('a second payment after a refused payment', () => {
  it('is not presented again once the chain shows the first', async () => {
    const payer = await payerOn(sandbox, { USDC: '1' }, { policy: { resign: 1 } });
    const seller = await sellerOfTest((request, response) => {
      if (!isPaid(request)) return answerTerms(response, terms());
      if (seller.paid.length === 1)
        return answerTerms(response, { ...terms(), error: 'No matching payment requirements' });
      if (seller.paid.length === 2) return void request.socket.destroy();
      void settle(sandbox, request).then((settled) =>
        answer(response, 200, {}, settlementHeader({ ...settled })),
      );
    });
    await failureOf(payer.client.fetch(seller.url), 'payment_uncertain');
    const [first] = seller.paid;
    if (first === undefined) throw new Error('Nothing was paid.');
    expect((await settle(sandbox, first)).success).toBe(true);
    await failureOf(payer.client.fetch(seller.url), 'already_spent');
    expect([
      signedOf(payer, 'payment'),
      seller.paid.length,
      await timesSpent(sandbox, payer, 'USDC'),
    ]).toEqual([2, 2, 1]);
  });
});
