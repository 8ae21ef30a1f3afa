import { address } from '@solana/kit';
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
import { ATTACKER } from '../corpus/addresses.js';
import { transferSol } from '../corpus/instructions.js';
import { termsOf } from '../contract/transport-contract.js';
import { signaturesOf } from '../helpers/chain.js';
import { decided } from '../helpers/flow.js';
import { inInstruction, inTransaction, type Lie } from '../helpers/lying-service.js';
import { ownAccounts } from '../helpers/own-messages.js';
import { payerOn, type Payer } from '../helpers/payer.js';
import { startRecordedService, type RecordedService } from '../helpers/recorded-service.js';
import { useSandbox } from '../helpers/sandbox.js';
import { refusal } from '../helpers/untouched.js';

const PLAN = 'x402/auto-pay';
const QUOTE = 'quote';
const BUILD = 'swap/build';
const FUNDS = { SOL: '0.5', BONK: '5000000' } as const;

const sandbox = await useSandbox({ confirmationMs: 20 });
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

describe('a payment that is short, over a service', () => {
  it('costs one call of it, and the payments that the swap brings more for cost none', async () => {
    const one = await payer();
    expect(await paid(one)).toMatchObject({ state: 'settled', swap: { outAmount: '50000' } });
    expect(service.calls).toEqual([PLAN]);
    expect(await paid(one)).toMatchObject({ state: 'settled' });
    expect(service.calls).toEqual([PLAN]);
    expect(swapsOf(one)).toBe(1);
  });

  it('asks for exactly what it would have had quoted, of the offer alone', async () => {
    const { BONK, USDT, USDC } = sandbox.mints;
    const one = await payer(
      { swapFrom: ['USDT', BONK.address], policy: { maxSlippageBps: 30, minSwap: '0.03' } },
      { ...FUNDS, USDT: '0.001' },
    );
    const receipt = await paid(one);
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
        ...{ wallet: one.address, autoSwap: true, limits: { [USDC.address]: '10000' } },
        ...{ swapFrom: [BONK.address], swapAmount: '30000', slippageBps: 30 },
      },
    ]);
    expect(USDT.address).not.toBe(receipt.swap?.inputMint);
  });

  it('costs one call also if the wallet holds enough that is promised already', async () => {
    const one = await payer({}, { SOL: '0.5', USDC: '0.01' });
    const promised = one.client.fetch(url('/slow'));
    const receipts = await Promise.all([promised.then(decided), paid(one)]);
    expect(receipts.map(({ state }) => state)).toEqual(['settled', 'settled']);
    expect(service.calls).toEqual([PLAN]);
    expect(swapsOf(one)).toBe(1);
  });

  it('costs one call also of a transport that is handed over as such', async () => {
    const one = await payer({ apiUrl: undefined, transport: remote(service.url) });
    expect(await paid(one)).toMatchObject({ state: 'settled' });
    expect(service.calls).toEqual([PLAN]);
  });

  it('costs one call also of a service with a journal, which puts nothing of it on record', async () => {
    const journal = memoryJournal();
    const kept = await startRecordedService(sandbox, {}, { journal });
    const one = await payer({ apiUrl: kept.url });
    expect(await paid(one)).toMatchObject({ state: 'settled', swap: { outAmount: '50000' } });
    expect(kept.calls).toEqual([PLAN]);
    const recorded: string[] = [];
    for await (const { id } of journal.attempts({ wallet: one.address, network: SOLANA_MAINNET }))
      recorded.push(id);
    expect(recorded).toEqual([]);
    await kept.close();
  });

  it('makes one swap for ten at once', async () => {
    const one = await payer();
    const receipts = await Promise.all(Array.from({ length: 10 }, () => paid(one)));
    expect(receipts.map(({ state }) => state)).toEqual(receipts.map(() => 'settled'));
    expect(swapsOf(one)).toBe(1);
    expect(new Set(service.calls)).toEqual(new Set([PLAN]));
  });

  it('has what it compares quoted, and the cheapest planned', async () => {
    const one = await payer({}, { SOL: '0.5' });
    await paid(one, '/any');
    expect(service.calls).toEqual([PLAN, QUOTE, QUOTE]);
  });

  it('has nothing built that is only looked at', async () => {
    const one = await payer();
    expect(await one.client.plan(url())).toMatchObject({ swap: { outAmount: '50000' } });
    expect(service.calls).toEqual([QUOTE]);
  });

  it('is approved as it was planned', async () => {
    const one = await payer({ policy: { approve: ({ swap }) => swap?.minOutAmount === '50000' } });
    await paid(one);
    expect(service.calls).toEqual([PLAN]);
  });
});

describe('a plan that is asked for by hand', () => {
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

  it('swaps from what it names, in that order', async () => {
    const { SOL, USDT } = sandbox.mints;
    expect(inputOf(await pay(service.url, {}))).toBe(USDT.address);
    expect(inputOf(await pay(service.url, { swapFrom: ['SOL', USDT.address] }))).toBe(SOL.address);
    expect(await pay(service.url, { swapFrom: [] })).toMatchObject({ state: 'insufficient_funds' });
  });

  it('swaps from nothing that the service does not swap from', async () => {
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

  it('brings what it names, and never less than what is missing', async () => {
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
  ])('is refused for a wrong %s', async (option, wrong) => {
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
    'and %s is asked for a quote and a build, and for no plan again so soon',
    async (_, answer) => {
      service.retell((path) => (path === PLAN ? answer() : undefined));
      const one = await payer({ timeouts: { service: 2_500 } });
      expect(await paid(one)).toMatchObject({ state: 'settled' });
      const parts = [QUOTE, BUILD];
      expect(service.calls.filter((path) => path !== PLAN)).toEqual(parts);
      expect(service.calls.indexOf(PLAN)).toBe(0);
      const plans = service.calls.length - parts.length;
      expect(await paid(one, '/usdt')).toMatchObject({ state: 'settled' });
      expect(service.calls.slice(plans)).toEqual([...parts, ...parts]);
    },
  );

  it('for policy of its own is asked for a quote and a build', async () => {
    const strict = await startRecordedService(sandbox, {}, { policy: { maxPerPayment: '0.001' } });
    const one = await payer({ apiUrl: strict.url });
    expect(await paid(one)).toMatchObject({ state: 'settled' });
    expect(strict.calls).toEqual([PLAN, QUOTE, BUILD]);
    await strict.close();
  });
});

/** The plan with another quote or transaction in it. */
function inPlan(change: (swap: SwapTransaction, wallet: string) => unknown): void {
  service.retell(async (path, answer, request) => {
    if (path !== PLAN || !answer.ok) return undefined;
    // Of a service that is honest below this.
    const plan = (await answer.json()) as { swap: SwapTransaction };
    // It was taken as a request for a plan.
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
    ['into another token', (quote) => ({ ...quote, outputMint: sandbox.mints.USDT.address })],
    ['of the other mode', (quote) => ({ ...quote, swapMode: 'ExactIn' })],
    ['that brings less', (quote) => ({ ...quote, outAmount: '49999', minOutAmount: '49999' })],
    [
      'that brings far more',
      (quote) => ({ ...quote, outAmount: '150000', minOutAmount: '150000' }),
    ],
    ['with other slippage', (quote) => ({ ...quote, slippageBps: 500 })],
    ['at a price that is not the market’s', (quote) => taking(quote, 200)],
    ['with an amount that is none', (quote) => ({ ...quote, maxInAmount: '-1' })],
    ['with a fee', (quote) => ({ ...quote, platformFeeBps: 20 })],
  ];
  it.each(quotes)('by a quote %s is asked for a quote and a build instead', async (_, change) => {
    inPlan((swap) => ({ ...swap, quote: change(swap.quote) }));
    const one = await payer();
    expect(await paid(one)).toMatchObject({ state: 'settled', swap: { outAmount: '50000' } });
    expect(service.calls.slice(-2)).toEqual([QUOTE, BUILD]);
    expect(swapsOf(one)).toBe(1);
  });

  const toAttacker = (): Lie =>
    inTransaction((parts, { wallet }) => ({
      ...parts,
      instructions: [...parts.instructions, transferSol(wallet, ATTACKER, 1_000_000n)],
    }));
  const transactions: readonly (readonly [
    string,
    (swap: SwapTransaction, wallet: string) => unknown,
  ])[] = [
    [
      'of another wallet',
      async (swap) => ({ ...swap, transaction: await builtForAnother(swap.quote) }),
    ],
    [
      'of another swap',
      async (swap, wallet) => ({ ...swap, transaction: await builtForMore(swap.quote, wallet) }),
    ],
    [
      'that brings the output to a stranger',
      (swap, wallet) =>
        told(
          inInstruction((one, { own }) => ({
            ...one,
            accounts: one.accounts.map((meta) =>
              meta.address === own.USDC ? { ...meta, address: ATTACKER } : meta,
            ),
          })),
          swap,
          wallet,
        ),
    ],
    [
      'for a quote that is too good to be true',
      (swap) => ({ ...swap, quote: taking(swap.quote, 50) }),
    ],
    ['that is none', (swap) => ({ ...swap, transaction: Buffer.alloc(200).toString('base64') })],
  ];
  it.each(transactions)('by a transaction %s gets nothing signed', async (_, change) => {
    inPlan(change);
    const one = await payer();
    await refusal(sandbox, one, 'unsafe_swap', () => one.client.fetch(url()));
    expect(one.signed).toEqual([]);
    expect(await signaturesOf(sandbox.rpcUrl, ATTACKER)).toEqual([]);
  });

  it('by more in its transaction than the swap gets the swap alone signed', async () => {
    inPlan((swap, wallet) => told(toAttacker(), swap, wallet));
    const one = await payer();
    expect(await paid(one)).toMatchObject({ state: 'settled' });
    expect(service.calls).toEqual([PLAN]);
    expect(await signaturesOf(sandbox.rpcUrl, ATTACKER)).toEqual([]);
  });

  it('by another step gets no payment of its own signed', async () => {
    service.retell((path) =>
      path === PLAN
        ? {
            state: 'ready_to_present',
            offer: { index: 0, x402Version: 2, payable: true },
            header: { name: 'X-PAYMENT', value: 'AAAA' },
          }
        : undefined,
    );
    const one = await payer();
    expect(await paid(one)).toMatchObject({ state: 'settled' });
    expect(service.calls).toEqual([PLAN, QUOTE, BUILD]);
  });

  async function told(lie: Lie, swap: SwapTransaction, wallet: string): Promise<unknown> {
    return lie.transaction?.(
      swap,
      { sandbox, wallet: address(wallet), own: await ownAccounts(sandbox, wallet) },
      swap.quote,
    );
  }

  async function built(quote: SwapQuote, wallet: string): Promise<string> {
    const answer = await fetch(`${service.url}/api/swap/build`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ wallet, quote }),
    });
    return ((await answer.json()) as SwapTransaction).transaction; // The service is honest in this.
  }

  async function builtForAnother(quote: SwapQuote): Promise<string> {
    return built(quote, (await sandbox.createWallet(FUNDS)).address);
  }

  async function builtForMore(
    { inputMint, outputMint }: SwapQuote,
    wallet: string,
  ): Promise<string> {
    const query = new URLSearchParams({
      inputMint,
      outputMint,
      amount: '5000000',
      swapMode: 'ExactOut',
    });
    const quote = (await (
      await fetch(`${service.url}/api/quote?${query.toString()}`)
    ).json()) as SwapQuote; // As above.
    return built(quote, wallet);
  }
});
