import {
  memoryJournal,
  remote,
  SOLANA_MAINNET,
  type ClientOptions,
  type PaymentResult,
  type SwapQuote,
  type SwapTransaction,
} from 'exact-change';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { termsOf } from '../contract/transport-contract.js';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { waitForAllQuotes } from '../helpers/all-quotes.js';
import { until } from '../helpers/chain.js';
import { arrivingTogether, decided } from '../helpers/flow.js';
import { payerOn, type Payer } from '../helpers/payer.js';
import { startRecordedService, type RecordedService } from '../helpers/recorded-service.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest } from '../helpers/seller.js';
import { answer, offerOf, settle, settlementHeader } from '../helpers/settling.js';

const PLAN = 'x402/auto-pay';
const QUOTE = 'quote';
const BUILD = 'swap/build';
const FUNDS = { SOL: '0.5', BONK: '5000000' } as const;

const sandbox = await useSandbox({ confirmationMs: 20 });
waitForAllQuotes();
let service: RecordedService;

beforeAll(async () => {
  service = await startRecordedService(sandbox);
});
afterEach(async () => {
  service.reset();
});
afterAll(async () => {
  await service.close();
});

const url = (path = '/usdc') => sandbox.apiUrl + path;
const payer = (options: ClientOptions = {}, funds: Parameters<typeof payerOn>[1] = FUNDS) =>
  payerOn(sandbox, funds, { apiUrl: service.url, autoSwap: true, swapFrom: ['SOL'], ...options });
const swapsOf = ({ signed }: Payer) => signed.filter(({ kind }) => kind === 'swap').length;

async function paid(by: Payer, path?: string) {
  const response = await by.client.fetch(url(path));
  expect(response.status).toBe(200);
  return decided(response);
}

describe('a payment that lacks tokens, through a service', () => {
  it('costs one call to the service, and later payments from the same swap cost none', async () => {
    const buyer = await payer();
    expect(await paid(buyer)).toMatchObject({ state: 'settled', swap: { outAmount: '50000' } });
    expect(service.calls).toEqual([PLAN]);
    expect(await paid(buyer)).toMatchObject({ state: 'settled' });
    expect(service.calls).toEqual([PLAN]);
    expect(swapsOf(buyer)).toBe(1);
  });

  it('asks for a plan of exactly the swap that it would have had quoted', async () => {
    const { BONK, USDT, USDC } = sandbox.mints;
    const buyer = await payer(
      { swapFrom: ['USDT', BONK.address], policy: { maxSlippageBps: 30, minSwap: '0.03' } },
      { ...FUNDS, USDT: '0.001' },
    );
    const receipt = await paid(buyer);
    expect(receipt.swap).toMatchObject({ inputMint: BONK.address, outAmount: '30000' });
    expect(service.bodies).toEqual([
      {
        paymentRequired: {
          body: {
            x402Version: 2,
            accepts: [
              {
                ...{
                  scheme: 'exact',
                  network: receipt.payment.network,
                  asset: USDC.address,
                  amount: '10000',
                  payTo: sandbox.merchant,
                },
                ...{
                  maxTimeoutSeconds: expect.any(Number),
                  extra: { feePayer: expect.any(String) },
                },
              },
            ],
          },
        },
        ...{ wallet: buyer.address, autoSwap: true, limits: { [USDC.address]: '10000' } },
        ...{ swapFrom: [BONK.address], swapAmount: '30000', slippageBps: 30 },
      },
    ]);
    expect(USDT.address).not.toBe(receipt.swap?.inputMint);
  });

  it('costs one call too if the wallet holds enough but has promised it', async () => {
    const buyer = await payer({}, { SOL: '0.5', USDC: '0.01' });
    let settleFirst = (): void => undefined;
    const hasPaid = new Promise<void>((resolve) => (settleFirst = resolve));
    // A payment that settles while the swap is being built would have it built anew.
    const seller = await sellerOfTest((request, response) => {
      if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
      void hasPaid
        .then(() => settle(sandbox, request))
        .then((settled) => answer(response, 200, {}, settlementHeader({ ...settled })));
    });
    const promised = buyer.client.fetch(seller.url);
    await until('its tokens are promised', () => seller.paid[0]);
    expect(await paid(buyer)).toMatchObject({ state: 'settled' });
    settleFirst();
    expect(await decided(await promised)).toMatchObject({ state: 'settled' });
    expect(service.calls).toEqual([PLAN]);
    expect(swapsOf(buyer)).toBe(1);
  });

  it('costs one call through a transport option too', async () => {
    const buyer = await payer({ apiUrl: undefined, transport: remote(service.url) });
    expect(await paid(buyer)).toMatchObject({ state: 'settled' });
    expect(service.calls).toEqual([PLAN]);
  });

  it('costs one call to a service with a journal, which records nothing of it', async () => {
    const journal = memoryJournal();
    const kept = await startRecordedService(sandbox, {}, { journal });
    const buyer = await payer({ apiUrl: kept.url });
    expect(await paid(buyer)).toMatchObject({ state: 'settled', swap: { outAmount: '50000' } });
    expect(kept.calls).toEqual([PLAN]);
    const recorded: string[] = [];
    for await (const { id } of journal.attempts({ wallet: buyer.address, network: SOLANA_MAINNET }))
      recorded.push(id);
    expect(recorded).toEqual([]);
    await kept.close();
  });

  it('makes one swap for ten payments at once', async () => {
    const buyer = await payer({ fetch: arrivingTogether(10) });
    const receipts = await Promise.all(Array.from({ length: 10 }, () => paid(buyer)));
    expect(receipts.map(({ state }) => state)).toEqual(receipts.map(() => 'settled'));
    expect(swapsOf(buyer)).toBe(1);
    expect(new Set(service.calls)).toEqual(new Set([PLAN]));
  });

  it('has each candidate quoted, and only the cheapest planned', async () => {
    const buyer = await payer({}, { SOL: '0.5' });
    await paid(buyer, '/any');
    expect(service.calls).toEqual([PLAN, QUOTE, QUOTE]);
  });

  it('gets no transaction built by plan()', async () => {
    const buyer = await payer();
    expect(await buyer.client.plan(url())).toMatchObject({ swap: { outAmount: '50000' } });
    expect(service.calls).toEqual([QUOTE]);
  });

  it('is approved as it was planned', async () => {
    const buyer = await payer({
      policy: { approve: ({ swap }) => swap?.minOutAmount === '50000' },
    });
    await paid(buyer);
    expect(service.calls).toEqual([PLAN]);
  });
});

describe('a plan that a caller requests by hand', () => {
  const pay = async (
    apiUrl: string,
    more: object,
    funds: Parameters<typeof payerOn>[1] = { SOL: '0.5', USDT: '1' },
  ) => {
    const { address: wallet } = await sandbox.createWallet(funds);
    return remote(apiUrl).autoPay({
      paymentRequired: await termsOf(url()),
      wallet,
      autoSwap: true,
      ...more,
    });
  };
  const inputOf = ({ swap }: PaymentResult) => swap?.quote.inputMint;

  it('swaps from the tokens that it lists, in that order', async () => {
    const { SOL, USDT } = sandbox.mints;
    expect(inputOf(await pay(service.url, {}))).toBe(USDT.address);
    expect(inputOf(await pay(service.url, { swapFrom: ['SOL', USDT.address] }))).toBe(SOL.address);
    expect(await pay(service.url, { swapFrom: [] })).toMatchObject({ state: 'insufficient_funds' });
  });

  it('swaps from no token and with no slippage that the service does not allow', async () => {
    const strict = await startRecordedService(
      sandbox,
      {},
      { swapFrom: ['SOL'], policy: { maxSlippageBps: 40 } },
    );
    expect(inputOf(await pay(strict.url, { swapFrom: ['USDT', 'SOL'] }))).toBe(
      sandbox.mints.SOL.address,
    );
    expect(await pay(strict.url, { swapFrom: ['USDT'] })).toMatchObject({
      state: 'insufficient_funds',
    });
    expect(await pay(strict.url, { slippageBps: 300 })).toMatchObject({
      swap: { quote: { slippageBps: 40 } },
    });
    expect(await pay(strict.url, { slippageBps: 7 })).toMatchObject({
      swap: { quote: { slippageBps: 7 } },
    });
    await strict.close();
  });

  it('brings the requested amount, and never less than the missing amount', async () => {
    expect(await pay(service.url, { swapAmount: '77777' })).toMatchObject({
      swap: { quote: { minOutAmount: '77777' } },
    });
    expect(await pay(service.url, { swapAmount: '1' })).toMatchObject({
      swap: { quote: { minOutAmount: '10000' } },
    });
    const held = { SOL: '0.5', USDC: '1' };
    expect(await pay(service.url, { swapAmount: '20000' }, held)).toMatchObject({
      swap: { quote: { minOutAmount: '20000' } },
    });
    expect(await pay(service.url, { swapAmount: '20000', autoSwap: false }, held)).toMatchObject({
      state: 'ready_to_sign',
    });
  });

  it.each([
    ['swapFrom[0]', { swapFrom: ['no mint'] }],
    ['swapFrom', { swapFrom: Array.from({ length: 33 }, () => 'SOL') }],
    ['swapFrom', { swapFrom: 'SOL' }],
    ['slippageBps', { slippageBps: 10_001 }],
    ['slippageBps', { slippageBps: 0.5 }],
    ['swapAmount', { swapAmount: '-1' }],
    ['swapAmount', { swapAmount: '0' }],
    ['swapAmount', { swapAmount: 5 }],
  ])('is refused for an invalid %s', async (option, wrong) => {
    const error = await pay(service.url, wrong).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'invalid_option', details: { option } });
  });
});

describe('a service that cannot plan', () => {
  const rows: readonly (readonly [string, () => unknown])[] = [
    ['has no such path', () => new Response('Not Found', { status: 404 })],
    ['fails', () => Response.json({ error: 'no' }, { status: 500 })],
    ['answers something else', () => Response.json({ state: 'swap_required' })],
    ['hangs', () => new Promise(() => undefined)],
  ];
  it.each(rows)(
    'is asked for a quote and a build when it %s, and for no plan in the next call',
    async (_, answer) => {
      service.retell((path) => (path === PLAN ? answer() : undefined));
      const buyer = await payer({ timeouts: { service: 5_000 } });
      expect(await paid(buyer)).toMatchObject({ state: 'settled' });
      const parts = [QUOTE, BUILD];
      expect(service.calls.filter((path) => path !== PLAN)).toEqual(parts);
      expect(service.calls.indexOf(PLAN)).toBe(0);
      const plans = service.calls.length - parts.length;
      expect(await paid(buyer, '/usdt')).toMatchObject({ state: 'settled' });
      expect(service.calls.slice(plans)).toEqual([...parts, ...parts]);
    },
  );

  it('is asked for a quote and a build if its own policy refuses the plan', async () => {
    const strict = await startRecordedService(sandbox, {}, { policy: { maxPerPayment: '0.001' } });
    const buyer = await payer({ apiUrl: strict.url });
    expect(await paid(buyer)).toMatchObject({ state: 'settled' });
    expect(strict.calls).toEqual([PLAN, QUOTE, BUILD]);
    await strict.close();
  });
});

/** Replaces the swap in each plan of the service. */
function inPlan(change: (swap: SwapTransaction, wallet: string) => unknown): void {
  service.retell(async (path, answer, request) => {
    if (path !== PLAN || !answer.ok) return undefined;
    // The service below this change is honest.
    const plan = (await answer.json()) as { swap: SwapTransaction };
    // The service took it as a request for a plan, so it names a wallet.
    return { ...plan, swap: await change(plan.swap, (request as { wallet: string }).wallet) };
  });
}

const times = (amount: string, by: number) => ((BigInt(amount) * BigInt(by)) / 100n).toString();
const taking = (quote: SwapQuote, percent: number): SwapQuote => ({
  ...quote,
  inAmount: times(quote.inAmount, percent),
  maxInAmount: times(quote.maxInAmount, percent),
});

describe('a service that lies in its plan', () => {
  const quotes: readonly (readonly [string, (quote: SwapQuote) => unknown])[] = [
    ['out of another token', (quote) => ({ ...quote, inputMint: sandbox.mints.BONK.address })],
    ['that brings less', (quote) => ({ ...quote, outAmount: '49999', minOutAmount: '49999' })],
    ['at twice the market price', (quote) => taking(quote, 200)],
    ['with a fee', (quote) => ({ ...quote, platformFeeBps: 20 })],
  ];
  it.each(quotes)(
    'is asked for a quote and a build instead if it sends a quote %s',
    async (_, change) => {
      inPlan((swap) => ({ ...swap, quote: change(swap.quote) }));
      const buyer = await payer();
      expect(await paid(buyer)).toMatchObject({ state: 'settled', swap: { outAmount: '50000' } });
      expect(service.calls.slice(-2)).toEqual([QUOTE, BUILD]);
      expect(swapsOf(buyer)).toBe(1);
    },
  );

  it('gets no payment of its own signed by another step in place of the plan', async () => {
    service.retell((path) =>
      path === PLAN
        ? {
            state: 'ready_to_present',
            offer: { index: 0, x402Version: 2, payable: true },
            header: { name: 'X-PAYMENT', value: 'AAAA' },
          }
        : undefined,
    );
    const buyer = await payer();
    expect(await paid(buyer)).toMatchObject({ state: 'settled' });
    expect(service.calls).toEqual([PLAN, QUOTE, BUILD]);
  });
});
