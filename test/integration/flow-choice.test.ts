import { type Client, type ClientOptions, type Plan } from 'exact-change';
import type { MintSymbol, SandboxWallet } from 'exact-change-sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { landed, tokenAccount, tokenAmount } from '../helpers/chain.js';
import { startSeller, type Offered, type Seller } from '../helpers/flow-seller.js';
import { clientOn, decided, recorded } from '../helpers/flow.js';
import { useSandbox } from '../helpers/sandbox.js';

const OFFERS: readonly Offered[] = [
  { symbol: 'PYUSD', amount: '40000' },
  { symbol: 'USDT', amount: '30000' },
  { symbol: 'USDC', amount: '20000' },
  { symbol: 'BONK', amount: '600000000' },
];
const EQUAL: readonly Offered[] = ['PYUSD', 'USDT', 'USDC'].map((symbol) => ({
  symbol: symbol as MintSymbol,
  amount: '10000',
}));

function orders<T>(list: readonly T[]): T[][] {
  if (list.length === 0) return [[]];
  return list.flatMap((first, index) =>
    orders([...list.slice(0, index), ...list.slice(index + 1)]).map((rest) => [first, ...rest]),
  );
}
const name = (offers: readonly Offered[]) =>
  `/${offers.map(({ symbol }) => symbol.toLowerCase()).join('-')}`;

const sandbox = await useSandbox({ confirmationMs: 20 });
let seller: Seller;
let equal: Seller;

beforeAll(async () => {
  seller = await startSeller(sandbox, {
    ...Object.fromEntries(orders(OFFERS).map((offers) => [name(offers), offers])),
    '/wsol': [{ symbol: 'SOL', amount: '100000' }],
  });
  equal = await startSeller(
    sandbox,
    Object.fromEntries(orders(EQUAL).map((offers) => [name(offers), offers])),
  );
});
afterAll(async () => {
  await seller.close();
  await equal.close();
});
const clientFor = (wallet: SandboxWallet, options?: ClientOptions) =>
  clientOn(sandbox, wallet, options);

const symbolOf = ({ payment }: Plan) =>
  Object.values(sandbox.mints).find(({ address }) => address === payment?.mint)?.symbol;

/** Returns the token that the client plans to pay for each order of the offers. */
async function chosen(
  client: Client,
  shop: Seller,
  offers: readonly Offered[],
): Promise<(string | undefined)[]> {
  const plans: Plan[] = [];
  for (const order of orders(offers)) plans.push(await client.plan(shop.url + name(order)));
  return plans.map(symbolOf);
}

describe('a 402 with offers in several tokens', () => {
  it('is paid in the held token without a swap, even when another offer is cheaper', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5', USDT: '1' });
    const client = clientFor(wallet);
    const events = recorded(client);
    const order = orders(OFFERS)[0] ?? [];
    const before = await tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints.USDT);
    const response = await client.fetch(seller.url + name(order));
    expect(response.status).toBe(200);
    expect((await decided(response)).payment).toMatchObject({
      mint: sandbox.mints.USDT.address,
      amount: '30000',
    });
    expect((await tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints.USDT)) - before).toBe(
      30_000n,
    );
    expect(events.some(({ type }) => type.startsWith('swap'))).toBe(false);
    expect(new Set(await chosen(client, seller, OFFERS))).toEqual(new Set(['USDT']));
  });

  it('is paid in the cheapest held token, for any order of the offers', async () => {
    const client = clientFor(
      await sandbox.createWallet({ SOL: '0.5', USDT: '1', PYUSD: '1', BONK: '6000' }),
    );
    // The price of 6000 BONK is 12 cents, which is more than the prices in stablecoins.
    expect(new Set(await chosen(client, seller, OFFERS))).toEqual(new Set(['USDT']));
  });

  it('is paid by a swap for the cheapest offer when no offered token is held', async () => {
    const client = clientFor(await sandbox.createWallet({ SOL: '0.5' }));
    expect(new Set(await chosen(client, seller, OFFERS))).toEqual(new Set(['USDC']));
  });

  it('is paid by the offer with the lowest price, even when its swap is dearer', async () => {
    // A swap brings at least five cents, and five cents of USDC cost the most in this test.
    sandbox.controls.aggregator.setPriceImpact('SOL', 'USDC', 80);
    const client = clientFor(await sandbox.createWallet({ SOL: '0.5' }));
    expect(new Set(await chosen(client, seller, OFFERS))).toEqual(new Set(['USDC']));
  });

  it('is paid by the offer with the cheapest swap when the prices are equal', async () => {
    sandbox.controls.aggregator.setPriceImpact('SOL', 'PYUSD', 50);
    sandbox.controls.aggregator.setPriceImpact('SOL', 'USDC', 40);
    const client = clientFor(await sandbox.createWallet({ SOL: '0.5' }));
    expect(new Set(await chosen(client, equal, EQUAL))).toEqual(new Set(['USDT']));
  });

  it('is paid by the cheapest offer with a swap route', async () => {
    sandbox.controls.aggregator.noRoute('SOL', 'USDC');
    const client = clientFor(await sandbox.createWallet({ SOL: '0.5' }));
    expect(new Set(await chosen(client, seller, OFFERS))).toEqual(new Set(['USDT']));
    const plan = await client.plan(seller.url + name(OFFERS));
    expect(plan.refused).toEqual([expect.objectContaining({ index: 2, code: 'no_route' })]);
  });

  it('is not paid in a held token that the policy forbids', async () => {
    const policy = { maxPerPayment: '0.025' };
    // The rent of a new account would be above the cap.
    const wallet = await sandbox.createWallet({ SOL: '0.5', USDT: '1', USDC: '0' });
    const client = clientFor(wallet, { policy });
    expect(new Set(await chosen(client, seller, OFFERS))).toEqual(new Set(['USDC']));
    const plan = await client.plan(seller.url + name(OFFERS));
    expect(plan.refused.map(({ index, code }) => [index, code])).toEqual([
      [0, 'amount_over_limit'],
      [1, 'amount_over_limit'],
      [3, 'amount_over_limit'],
    ]);
  });

  it('is paid by the first offer when all offers are equal', async () => {
    const first = orders(EQUAL).map(([offer]) => offer?.symbol);
    const held = clientFor(await sandbox.createWallet({ USDC: '1', USDT: '1', PYUSD: '1' }));
    expect(await chosen(held, equal, EQUAL)).toEqual(first);
    const two = clientFor(await sandbox.createWallet({ SOL: '0.1', USDT: '1', PYUSD: '1' }));
    expect(await chosen(two, equal, EQUAL)).toEqual(
      orders(EQUAL).map((order) => order.find(({ symbol }) => symbol !== 'USDC')?.symbol),
    );
  });
});

describe('a price in wrapped SOL', () => {
  it('is paid from native SOL by wrapping, without a swap', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const client = clientFor(wallet);
    sandbox.controls.aggregator.resetCalls();
    const before = await tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints.SOL);
    const response = await client.fetch(`${seller.url}/wsol`);
    expect(response.status).toBe(200);
    const receipt = await decided(response);
    expect((await tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints.SOL)) - before).toBe(
      100_000n,
    );
    expect(receipt).toMatchObject({
      state: 'settled',
      payment: { mint: sandbox.mints.SOL.address, amount: '100000', decimals: 9 },
    });
    const { swap } = receipt;
    expect(swap).toMatchObject({
      inputMint: sandbox.mints.SOL.address,
      outputMint: sandbox.mints.SOL.address,
      provider: 'wrap',
    });
    const wrapping = await landed(sandbox.rpcUrl, swap?.signature ?? '');
    const [change, ...others] = wrapping.tokens;
    expect(others).toEqual([]);
    expect(change).toMatchObject({
      account: await tokenAccount(wallet.address, sandbox.mints.SOL),
      change: BigInt(swap?.outAmount ?? 0),
    });
    // The client asked for a price in dollars only, and for no swap.
    expect(
      sandbox.controls.aggregator.calls('/swap/v1/swap-instructions') +
        sandbox.controls.aggregator.calls('/swap/v2/build'),
    ).toBe(0);
  });

  it('is paid from BONK by a swap that leaves its output wrapped', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5', BONK: '1000000' });
    const client = clientFor(wallet, { swapFrom: [sandbox.mints.BONK.address] });
    const before = await tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints.SOL);
    const response = await client.fetch(`${seller.url}/wsol`);
    expect(response.status).toBe(200);
    const receipt = await decided(response);
    expect((await tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints.SOL)) - before).toBe(
      100_000n,
    );
    expect(receipt.swap).toMatchObject({
      inputMint: sandbox.mints.BONK.address,
      outputMint: sandbox.mints.SOL.address,
    });
    const swap = await landed(sandbox.rpcUrl, receipt.swap?.signature ?? '');
    const ours = swap.tokens.filter(({ owner }) => owner === wallet.address);
    expect(new Map(ours.map(({ mint, change }) => [mint, change]))).toEqual(
      new Map([
        [sandbox.mints.BONK.address, -BigInt(receipt.swap?.inAmount ?? 0)],
        [sandbox.mints.SOL.address, BigInt(receipt.swap?.outAmount ?? 0)],
      ]),
    );
  });

  it('is paid from BONK when fees and rent need all of the SOL', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.008', BONK: '1000000' });
    const receipt = await decided(await clientFor(wallet).fetch(`${seller.url}/wsol`));
    expect(receipt).toMatchObject({
      state: 'settled',
      swap: { inputMint: sandbox.mints.BONK.address },
    });
  });

  it('is paid from wrapped SOL that the wallet holds', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const client = clientFor(wallet);
    await decided(await client.fetch(`${seller.url}/wsol`));
    const again = await decided(await client.fetch(`${seller.url}/wsol`));
    expect(again.swap).toBeUndefined();
  });
});
