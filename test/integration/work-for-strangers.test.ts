import { describe, expect, it, onTestFinished } from 'vitest';
import { buyerOf, startService } from '../helpers/auto-pay.js';
import { JOURNALS, journalsOfAllKinds } from '../helpers/journals.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, startSeller } from '../helpers/seller.js';
import { offerOf } from '../helpers/settling.js';
import { inTurn, onePerRow, share, unsampled } from '../helpers/sampled.js';
import { startVirtualTime } from '../helpers/virtual-time.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
const journalOf = journalsOfAllKinds();

const total = (calls: Readonly<Record<string, number>>) =>
  Object.values(calls).reduce((sum, count) => sum + count, 0);

/** A seller that asks for each of many tokens that only it gives a price. */
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
  const seller = await startSeller((_, response) =>
    answerTerms(response, { x402Version: 2, accepts }),
  );
  onTestFinished(() => seller.close());
  return { url: seller.url, mints: new Set(mints) };
}

const FORMS = [
  ['without a market', false],
  ['with a market of its own', true],
] as const;

unsampled('one 402 with many tokens that its seller made', () => {
  it.each(FORMS)(
    '%s costs few questions to Jupiter, and fewer the second time',
    { timeout: 60_000 },
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
      // That there is no route, or what a token is worth, is known.
      expect(second).toBeLessThan(first);
      if (!tradable) expect(second).toBe(0);
    },
  );

  it.each(FORMS)(
    '%s has one question at Jupiter at a time: a swap beside it waits for one each',
    { timeout: 60_000 },
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

describe('402s with tokens that their sellers made, at the rate of Jupiter itself', () => {
  const JUPITER = 'https://api.jup.ag';
  const HOSTS = [
    ['one host', 1, 31],
    ['thirty hosts', 30, 4],
    ['thirty hosts that ask for one each', 30, 1],
  ] as const;

  /**
   * Calls them all, and a while after that an honest API, by a wallet that has to swap its BONK for
   * each.
   */
  async function honestBeside(
    urls: readonly string[],
    { bonk, afterMs, mints }: { bonk: string; afterMs: number; mints: readonly string[] },
  ) {
    const options = { autoSwap: true, swapFrom: [sandbox.mints.BONK.address] };
    // Whatever a swap needs is loaded.
    const early = await payerOn(sandbox, { SOL: '1', BONK: bonk }, options);
    expect((await early.client.fetch(`${sandbox.apiUrl}/usdc`)).status).toBe(200);
    const time = startVirtualTime();
    const asked: { readonly isStrange: boolean; readonly at: number }[] = [];
    // The limit is of the address, and what answers there is the sandbox.
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
        asked.filter((one) => one.at >= at && one.at < at + 60_000).length,
      ).toBeLessThanOrEqual(30);
    return { waitedMs, beside, asked, failures };
  }

  const offers = HOSTS.flatMap(([name, hosts, tokens]) =>
    FORMS.map(([form, tradable]) => [name, form, hosts, tokens, tradable] as const),
  );
  it.each(share(offers, onePerRow(offers, FORMS.length)))(
    'of %s, %s, hold up a swap beside them for no more than seconds',
    async (_name, _form, hosts, tokens, tradable) => {
      const sellers = await Promise.all(
        Array.from({ length: hosts }, () => sellerOfMany(tokens, tradable)),
      );
      const mints = sellers.flatMap((one) => [...one.mints]);
      const urls = sellers.map(({ url }) => url);
      const { waitedMs, beside, asked, failures } = await honestBeside(urls, {
        bonk: '1000000',
        afterMs: 0,
        mints,
      });
      // Alone its five questions leave at once; of those, two have to wait for two seconds each.
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
    'for more of %j than the wallet can pay, of thirty hosts, cost next to nothing',
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
      onTestFinished(async () => void (await Promise.all(sellers.map((one) => one.close()))));
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

describe('a wallet with as many open payments as a service keeps', () => {
  it.each(share(JOURNALS, inTurn(JOURNALS, 1)))(
    'costs a plan few calls of the node, and gets no more of them: journal in %s',
    { timeout: 120_000 },
    async (kind) => {
      const rpcUrl = `${sandbox.rpcUrl}/?caller=service`;
      const service = await startService(sandbox, await journalOf(kind), {
        rpcUrl,
        policy: { maxPerDay: '100' },
      });
      onTestFinished(() => service.close());
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
      // One question about all that is open, and what a plan of a wallet without any costs.
      const calls = total(node.callsByMethod('service'));
      expect(calls).toBeGreaterThan(0);
      expect(calls).toBeLessThanOrEqual(12);
    },
  );
});
