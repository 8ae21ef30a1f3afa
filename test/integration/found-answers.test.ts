import { setImmediate, setTimeout } from 'node:timers/promises';
import { memoryJournal, SOLANA_MAINNET, type Attempt, type Journal } from 'exact-change';
import { describe, expect, it, onTestFinished } from 'vitest';
import { alongWith, createCoordination } from '../../src/journal/registry.js';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { listOf } from '../helpers/attempts.js';
import { until } from '../helpers/chain.js';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, startSeller, type Seller } from '../helpers/seller.js';
import { answer, offerOf, settle, settlementHeader } from '../helpers/settling.js';
import { signedOf, timesSpent } from '../helpers/spends.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const post = { method: 'POST', body: 'x' };
const terms = () => envelopeV2([offerOf(sandbox)]);
const holder = (journal: Journal = memoryJournal()) => payerOn(sandbox, { USDC: '1' }, { journal });

/**
 * A seller that settles a payment, sends half of its answer, and cuts the line when it is told to.
 */
async function halving(): Promise<{ readonly seller: Seller; cut(): Promise<void> }> {
  const cuts: (() => void)[] = [];
  const seller = await startSeller((request, response) => {
    if (!isPaid(request)) return answerTerms(response, terms());
    void settle(sandbox, request).then((settled) => {
      response.writeHead(200, { 'content-length': '1000', ...settlementHeader({ ...settled }) });
      response.write('half of it');
      cuts.push(() => request.socket.destroy());
    });
  });
  onTestFinished(() => seller.close());
  return {
    seller,
    cut: async () => (await until('half of the answer was sent', () => cuts.shift()))(),
  };
}

/** A journal whose writes take a while if they are of this kind. */
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

/** What the stream of an answer fails with. */
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

const stored = (journal: Journal, { address }: Payer): Promise<Attempt[]> =>
  listOf(journal.attempts({ wallet: address, network: SOLANA_MAINNET }));

/** The same call again pays nothing, and says so. */
async function isPaidOnce(payer: Payer, seller: Seller): Promise<void> {
  await failureOf(payer.client.fetch(seller.url, post), 'already_spent');
  expect([
    signedOf(payer, 'payment'),
    seller.paid.length,
    await timesSpent(sandbox, payer, 'USDC'),
  ]).toEqual([1, 1, 1]);
}

describe('a paid call whose body is lost while it is read', () => {
  it('is paid once if the journal is slow to write that', async () => {
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

  it('is paid once if an earlier write of its attempt is still under way', async () => {
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
    const other = Response.prototype.clone.call(response);
    const reading = expect(response.text()).rejects.toThrow();
    await cut();
    // Fetch's own copy, which waits for nothing, breaks when the other does; a write that did not
    // wait for the one under way is done by the next turn of the loop.
    await expect(brokenOff(other)).resolves.toBeInstanceOf(Error);
    await setImmediate();
    end();
    await reading;
    await until(
      'it is settled on record',
      async () =>
        (await stored(journal, payer)).some(({ state }) => state === 'settled') || undefined,
    );
    expect(await stored(journal, payer)).toMatchObject([{ state: 'settled', delivered: false }]);
    await isPaidOnce(payer, seller);
  });

  it('is paid once if a clone of its answer was read', async () => {
    const payer = await holder();
    const { seller, cut } = await halving();
    const response = await payer.client.fetch(seller.url, post);
    await cut();
    await expect(response.clone().text()).rejects.toThrow();
    await isPaidOnce(payer, seller);
  });

  it.each(['TimeoutError', 'AbortError'])(
    'is paid once if its caller gave up: %s',
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

describe('a repeated call whose claim arrives too late', () => {
  it('leaves the payment to the next repetition, which signs no second one', async () => {
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
    const shared = { ...coordination, claims: { ...claims, take } };
    const journal: Journal = { ...alongWith(memoryJournal(), shared), coordination: () => shared };
    const payer = await payerOn(sandbox, { USDC: '1' }, { journal, timeouts: { journal: 500 } });
    const seller = await startSeller((request, response) => {
      if (!isPaid(request)) return answerTerms(response, terms());
      request.socket.destroy();
    });
    onTestFinished(() => seller.close());
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

describe('a second payment that was signed after a refused one', () => {
  it('is presented no more once the chain shows the first', async () => {
    const payer = await payerOn(sandbox, { USDC: '1' }, { policy: { resign: 1 } });
    const seller = await startSeller((request, response) => {
      if (!isPaid(request)) return answerTerms(response, terms());
      if (seller.paid.length === 1)
        return answerTerms(response, { ...terms(), error: 'No matching payment requirements' });
      if (seller.paid.length === 2) return void request.socket.destroy();
      void settle(sandbox, request).then((settled) =>
        answer(response, 200, {}, settlementHeader({ ...settled })),
      );
    });
    onTestFinished(() => seller.close());
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
