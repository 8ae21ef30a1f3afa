import { receiptOf, type Client, type Receipt } from 'exact-change';
import type { MintSymbol, SandboxWallet } from 'exact-change-sandbox';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { POOL_AUTHORITY, VENUE } from '../../adapters/sandbox/venue/venue.mjs';
import { LEGACY_PRICE, startLegacySeller, type LegacySeller } from '../fixtures/legacy/seller.js';
import { landed, tokenAmount } from '../helpers/chain.js';
import { clientOn, decided, overheard } from '../helpers/flow.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
let sellers: Record<'legacy' | 'current', LegacySeller>;
let wallet: SandboxWallet;

beforeAll(async () => {
  sellers = {
    legacy: await startLegacySeller(sandbox, { facilitator: 'legacy' }),
    current: await startLegacySeller(sandbox, { facilitator: 'current' }),
  };
});

afterAll(async () => {
  await Promise.all(Object.values(sellers).map((seller) => seller.close()));
});

beforeEach(async () => {
  wallet = await sandbox.createWallet({ SOL: '0.5', BONK: '1000000' });
});

const clientFor = (swapFrom?: readonly string[]) =>
  clientOn(sandbox, wallet, swapFrom === undefined ? {} : { swapFrom });

const merchantHolds = (symbol: MintSymbol) =>
  tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints[symbol]);

interface Purchase {
  readonly receipt: Receipt;
  readonly body: unknown;
  readonly response: Response;
}

/** Returns the names of all fields with a value, at any depth. */
function fieldsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, field]) =>
    field === null ? [] : [name, ...fieldsOf(field)],
  );
}

/** Buys once, and checks the payment and the receipt against the chain. */
async function buy(
  client: Client,
  url: string,
  symbol: MintSymbol,
  price: bigint,
  init?: RequestInit,
): Promise<Purchase> {
  const requests = overheard(sandbox);
  const before = await merchantHolds(symbol);
  const response = await client.fetch(url, init);
  expect(response.status).toBe(200);
  const receipt = await decided(response);
  expect((await merchantHolds(symbol)) - before).toBe(price);
  await expectPayment(receipt, symbol, price);
  // No request names a fee in any spelling of Jupiter. Compare the names of fields, because an
  // address may contain the letters.
  for (const { query, body } of requests)
    expect([...query.keys(), ...fieldsOf(body)].filter((name) => /fee/i.test(name))).toEqual([]);
  return { receipt, body: (await response.json()) as unknown, response };
}

/**
 * Expects that the receipt names the landed transaction with the wallet's signature, and the
 * settlement of the seller.
 */
async function expectPayment(receipt: Receipt, symbol: MintSymbol, price: bigint): Promise<void> {
  const mint = sandbox.mints[symbol].address;
  const { payment, settlement } = receipt;
  expect(receipt.state).toBe('settled');
  expect(payment).toMatchObject({
    mint,
    amount: price.toString(),
    payTo: sandbox.merchant,
    payer: wallet.address,
  });
  const transaction = await landed(sandbox.rpcUrl, payment.signature ?? '');
  expect(transaction.error).toBeNull();
  expect(transaction.signatures[0]).toBe(payment.signature);
  expect(transaction.signatures).toContain(payment.payerSignature);
  expect(transaction.tokens.map(({ owner, mint: of, change }) => [owner, of, change])).toEqual(
    expect.arrayContaining([
      [wallet.address, mint, -price],
      [sandbox.merchant, mint, price],
    ]),
  );
  expect(transaction.tokens).toHaveLength(2);
  // The facilitator pays the network fee, so no lamport of the wallet moves.
  expect(transaction.lamports.has(wallet.address)).toBe(false);
  expect(settlement).toMatchObject({ success: true, transaction: payment.signature });
}

/**
 * Expects the amounts of the receipt's swap on the chain, no transfer to a third party, and no fee
 * in the swap instruction.
 */
async function expectSwap(receipt: Receipt, from: MintSymbol, into: MintSymbol): Promise<void> {
  const [input, output] = [sandbox.mints[from].address, sandbox.mints[into].address];
  const { swap, cost } = receipt;
  if (swap === undefined) throw new Error('The receipt names no swap.');
  expect([swap.inputMint, swap.outputMint]).toEqual([input, output]);
  const transaction = await landed(sandbox.rpcUrl, swap.signature);
  expect(transaction.error).toBeNull();
  expect(cost.networkFeeLamports).toBe(transaction.fee.toString());

  const venue = transaction.tokens.filter(({ owner }) => owner === POOL_AUTHORITY);
  const ours = transaction.tokens.filter(({ owner }) => owner === wallet.address);
  expect(venue.length + ours.length).toBe(transaction.tokens.length);
  expect(new Map(venue.map(({ mint, change }) => [mint, change]))).toEqual(
    new Map([
      [input, BigInt(swap.inAmount)],
      [output, -BigInt(swap.outAmount)],
    ]),
  );
  expect(ours.find(({ mint }) => mint === output)?.change).toBe(BigInt(swap.outAmount));
  if (from !== 'SOL')
    expect(ours.find(({ mint }) => mint === input)?.change).toBe(-BigInt(swap.inAmount));
  const known = new Set([wallet.address, ...transaction.tokens.map(({ account }) => account)]);
  expect([...transaction.lamports.keys()].filter((account) => !known.has(account))).toEqual([]);

  const instructions = transaction.instructions.filter(({ program }) => program === VENUE);
  expect(instructions).toHaveLength(1);
  // Discriminator, two amounts, slippage; then platform fee and positive slippage, in basis points.
  expect([...(instructions[0]?.data.slice(26, 30) ?? [])]).toEqual([0, 0, 0, 0]);
}

describe('a wallet with only SOL and BONK', () => {
  it.each([
    ['USDC', '/usdc', 10_000n],
    ['USDT', '/usdt', 20_000n],
    ['PYUSD', '/pyusd', 30_000n],
  ] as const)('pays a price in %s from SOL', async (symbol, path, price) => {
    const { receipt, body } = await buy(clientFor(), sandbox.apiUrl + path, symbol, price);
    expect(body).toMatchObject({ ok: true, path });
    await expectSwap(receipt, 'SOL', symbol);
  });

  it.each([
    ['USDC', '/usdc', 10_000n],
    ['USDT', '/usdt', 20_000n],
    ['PYUSD', '/pyusd', 30_000n],
  ] as const)('pays a price in %s from BONK', async (symbol, path, price) => {
    const { receipt } = await buy(
      clientFor([sandbox.mints.BONK.address]),
      sandbox.apiUrl + path,
      symbol,
      price,
    );
    await expectSwap(receipt, 'BONK', symbol);
  });

  it('pays a price in BONK without a swap', async () => {
    const { receipt } = await buy(clientFor(), `${sandbox.apiUrl}/bonk`, 'BONK', 123_456_789n);
    expect(receipt.swap).toBeUndefined();
    expect(receipt.cost.networkFeeLamports).toBe('0');
  });

  it.each(['legacy', 'current'] as const)(
    'pays a version 1 seller with the %s facilitator',
    async (facilitator) => {
      const seller = sellers[facilitator];
      const { receipt, body } = await buy(clientFor(), `${seller.url}/usdc`, 'USDC', LEGACY_PRICE);
      expect(body).toMatchObject({ ok: true, method: 'GET' });
      expect(seller.sales.at(-1)).toMatchObject({ method: 'GET', url: '/usdc' });
      await expectSwap(receipt, 'SOL', 'USDC');
    },
  );

  it('pays for a POST with a JSON body, which the seller serves once', async () => {
    const question = { question: 'what is the time?', n: [1, 2.5, null], text: 'ünïcode' };
    const served = sandbox.controls.api.served.length;
    const { receipt, body } = await buy(clientFor(), `${sandbox.apiUrl}/echo`, 'USDC', 10_000n, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(question),
    });
    expect(body).toMatchObject({ ok: true, method: 'POST', body: question });
    expect(sandbox.controls.api.served.slice(served)).toEqual([
      expect.objectContaining({ url: '/echo', method: 'POST', body: question, status: 200 }),
    ]);
    expect(receipt.method).toBe('POST');
    await expectSwap(receipt, 'SOL', 'USDC');
  });

  it('returns a free answer without a receipt', async () => {
    const response = await clientFor().fetch(`${sandbox.apiUrl}/free`);
    expect(response.status).toBe(200);
    expect(receiptOf(response)).toBeUndefined();
  });
});
