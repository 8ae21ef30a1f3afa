import { describe, expect, it, onTestFinished } from 'vitest';
import { buyerOf, startService } from '../helpers/auto-pay.js';
import { JOURNALS, journalOf } from '../helpers/journals.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, sellerOfTest, startSeller } from '../helpers/seller.js';
import { offerOf } from '../helpers/settling.js';
import { inTurn, onePerRow, share, unsampled } from '../helpers/sampled.js';
import { startVirtualTime } from '../helpers/virtual-time.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const total = (calls: Readonly<Record<string, number>>) =>
  Object.values(calls).reduce((sum, count) => sum + count, 0);

/** Starts a seller that offers to be paid in many tokens, which only it gives a price. */
async function sellerOfMany(
  count: number,
  tradable: boolean,
): Promise<{ readonly url: string; readonly mints: ReadonlySet<string> }> {
  const mints: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const mint = await sandbox.createMint({ decimals: 6, picoUsd: 1_000_000n });
    if (!tradable) sandbox.controls.aggregator.noRoute(mint.symbol, 'USDC');
    mints.push(mint.address);
  }
  const accepts = mints.map((asset) => offerOf(sandbox, { asset, amount: '10000' }));
  const seller = await sellerOfTest((_, response) =>
    answerTerms(response, { x402Version: 2, accepts }),
  );
  return { url: seller.url, mints: new Set(mints) };
}

const FORMS = [
  ['without a market', false],
  ['with a market of its own', true],
] as const;

unsampled('a 402 for many tokens that its seller made', () => {
  it.each(FORMS)(
    '%s costs few requests to Jupiter, and fewer the second time',
    async (_, tradable) => {
      const { url } = await sellerOfMany(31, tradable);
      const payer = await payerOn(sandbox, { SOL: '1', USDC: '5' }, { autoSwap: true });
      const { aggregator } = sandbox.controls;
      const asked: number[] = [];
      for (let call = 0; call < 2; call += 1) {
        aggregator.resetCalls();
        await failureOf(payer.client.fetch(url));
        asked.push(aggregator.calls());
      }
      const [first = 0, second = 0] = asked;
      expect(first).toBeGreaterThan(0);
      expect(first).toBeLessThanOrEqual(20);
      // The client knows by now that there is no route, or the price of a token.
      expect(second).toBeLessThan(first);
      if (!tradable) expect(second).toBe(0);
    },
  );

  it.each(FORMS)(
    '%s has one request to Jupiter at a time, so a simultaneous swap waits for one at most',
    async (_, tradable) => {
      const { url, mints } = await sellerOfMany(31, tradable);
      const inOrder: boolean[] = [];
      let atOnce = 0;
      const noting: typeof fetch = async (input, init) => {
        const address = input instanceof Request ? input.url : String(input);
        if (!address.startsWith(sandbox.jupiterUrl)) return fetch(input, init);
        const isStrange = [...mints].some((mint) => address.includes(mint));
        inOrder.push(isStrange);
        if (!isStrange) return fetch(input, init);
        atOnce += 1;
        expect(atOnce).toBe(1);
        return fetch(input, init).finally(() => (atOnce -= 1));
      };
      const payer = await payerOn(
        sandbox,
        { SOL: '1', BONK: '1000000' },
        { autoSwap: true, swapFrom: [sandbox.mints.BONK.address], fetch: noting },
      );
      const [, honest] = await Promise.all([
        failureOf(payer.client.fetch(url)),
        payer.client.fetch(`${sandbox.apiUrl}/usdc`),
      ]);
      expect(honest.status).toBe(200);
      expect(new Set(inOrder)).toEqual(new Set([true, false]));
      expect(inOrder.filter((isStrange) => isStrange).length).toBeLessThanOrEqual(20);
    },
  );
});

describe('402s for tokens of their sellers, at the rate limit of Jupiter', () => {
  const JUPITER = 'https://api.jup.ag';
  const HOSTS = [
    ['one host', 1, 31],
    ['thirty hosts', 30, 4],
    ['thirty hosts with one token each', 30, 1],
  ] as const;

  /**
   * Calls all of these sellers and a moment later an honest API, with a wallet that has to swap its
   * BONK for each of them.
   */
  async function honestBeside(
    urls: readonly string[],
    { bonk, afterMs, mints }: { bonk: string; afterMs: number; mints: readonly string[] },
  ) {
    const options = { autoSwap: true, swapFrom: [sandbox.mints.BONK.address] };
    // This call loads all code that a swap needs.
    const early = await payerOn(sandbox, { SOL: '1', BONK: bonk }, options);
    expect((await early.client.fetch(`${sandbox.apiUrl}/usdc`)).status).toBe(200);
    const time = startVirtualTime();
    const asked: { readonly isStrange: boolean; readonly at: number }[] = [];
    // The limit belongs to the address of Jupiter, and the sandbox answers in its place.
    const answering: typeof fetch = (input, init) => {
      const address = input instanceof Request ? input.url : String(input);
      if (!address.startsWith(JUPITER)) return time.fetch(input, init);
      asked.push({ isStrange: mints.some((mint) => address.includes(mint)), at: time.now() });
      return time.fetch(sandbox.jupiterUrl + address.slice(JUPITER.length), init);
    };
    const payer = await payerOn(
      sandbox,
      { SOL: '1', BONK: bonk },
      { ...options, fetch: answering, jupiterUrl: JUPITER },
    );
    await payer.client.warm();
    const failing = Promise.all(urls.map((url) => failureOf(payer.client.fetch(url))));
    if (afterMs > 0) await new Promise((resolve) => setTimeout(resolve, afterMs));
    const [start, before] = [time.now(), asked.length];
    const honest = await payer.client.fetch(`${sandbox.apiUrl}/usdc`);
    expect(honest.status).toBe(200);
    const [waitedMs, beside] = [time.now() - start, asked.slice(before)];
    const failures = await failing;
    for (const { at } of asked)
      expect(
        asked.filter((request) => request.at >= at && request.at < at + 60_000).length,
      ).toBeLessThanOrEqual(30);
    return { waitedMs, beside, asked, failures };
  }

  const offers = HOSTS.flatMap(([name, hosts, tokens]) =>
    FORMS.map(([form, tradable]) => [name, form, hosts, tokens, tradable] as const),
  );
  it.each(share(offers, onePerRow(offers, FORMS.length)))(
    'from %s, %s, delay a simultaneous swap by a few seconds at most',
    async (_name, _form, hosts, tokens, tradable) => {
      const sellers = await Promise.all(
        Array.from({ length: hosts }, () => sellerOfMany(tokens, tradable)),
      );
      const mints = sellers.flatMap((seller) => [...seller.mints]);
      const urls = sellers.map(({ url }) => url);
      const { waitedMs, beside, asked, failures } = await honestBeside(urls, {
        bonk: '1000000',
        afterMs: 0,
        mints,
      });
      // Alone, the five requests of the swap leave at once. Now two of them wait for two seconds.
      expect(waitedMs).toBeLessThan(8_000);
      expect(beside.filter(({ isStrange }) => isStrange).length).toBeLessThanOrEqual(3);
      expect(beside.filter(({ isStrange }) => !isStrange).length).toBeGreaterThan(1);
      expect(asked.some(({ isStrange }) => isStrange)).toBe(true);
      if (!tradable)
        expect(failures.map(({ funds }) => funds)).toEqual(failures.map(() => 'untouched'));
    },
  );

  const wishes = [[['USDT']], [['USDT', 'PYUSD']], [['USDT', 'PYUSD', 'SOL']]] as const;
  it.each(share<(typeof wishes)[number]>(wishes, inTurn(wishes, 2)))(
    'from thirty hosts for more %j than the wallet can pay, cost Jupiter next to nothing',
    async (symbols) => {
      const accepts = symbols.map((symbol) => {
        const { address, picoUsd } = sandbox.mints[symbol];
        return offerOf(sandbox, {
          asset: address,
          amount: ((9n * 10n ** 11n) / picoUsd).toString(),
        });
      });
      const sellers = await Promise.all(
        Array.from({ length: 30 }, () =>
          startSeller((_, response) => answerTerms(response, { x402Version: 2, accepts })),
        ),
      );
      onTestFinished(async () => void (await Promise.all(sellers.map((seller) => seller.close()))));
      const urls = sellers.map(({ url }) => url);
      const { waitedMs, asked, failures } = await honestBeside(urls, {
        bonk: '10000',
        afterMs: 1_000,
        mints: [],
      });
      expect(waitedMs).toBeLessThan(8_000);
      expect(asked.length).toBeLessThanOrEqual(8);
      expect(failures.map(({ funds }) => funds)).toEqual(failures.map(() => 'untouched'));
    },
  );
});

describe('a wallet with as many open payments as a service allows', () => {
  it.each(share(JOURNALS, inTurn(JOURNALS, 1)))(
    'costs the node few calls for a plan, and gets no further payment: journal in %s',
    async (kind) => {
      const rpcUrl = `${sandbox.rpcUrl}/?caller=service`;
      const service = await startService(sandbox, await journalOf(kind), {
        rpcUrl,
        policy: { maxPerDay: '100' },
      });
      const wallet = await sandbox.createWallet({ USDC: '5' });
      const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
      const statuses: number[] = [];
      while (statuses.length < 60 && !statuses.includes(429)) {
        const { body } = await buyer.post(service);
        const { status } = await buyer.post(service, {
          signedPayment: await buyer.sign(body.payment?.transaction),
        });
        statuses.push(status);
      }
      expect([
        statuses.filter((status) => status === 200).length,
        statuses[statuses.length - 1],
      ]).toEqual([32, 429]);
      const { node } = sandbox.controls;
      node.resetCalls();
      expect((await buyer.post(service)).body.state).toBe('ready_to_sign');
      // One request covers all open payments. The rest is the cost of a plan without open payments.
      const calls = total(node.callsByMethod('service'));
      expect(calls).toBeGreaterThan(0);
      expect(calls).toBeLessThanOrEqual(12);
    },
  );
});
