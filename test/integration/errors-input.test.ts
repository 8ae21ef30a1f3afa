import { address } from '@solana/kit';
import { receiptOf, SOLANA_DEVNET, SOLANA_MAINNET } from 'exact-change';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { entryV2, envelopeV2 } from '../fixtures/malformed-402.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, startSeller, type Seller } from '../helpers/seller.js';
import { expectUntouched, refusal } from '../helpers/untouched.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
let seller: Seller;
let terms: unknown;

beforeAll(async () => {
  seller = await startSeller((_, response) => answerTerms(response, terms));
});

afterAll(async () => {
  await seller.close();
});

const usdc = () => sandbox.mints.USDC.address;
const bonk = () => sandbox.mints.BONK.address;
const url = (path: string) => sandbox.apiUrl + path;
/** An offer that the facilitator of the sandbox would settle, with `change` applied. */
const offer = (change: Record<string, unknown> = {}) =>
  entryV2({ payTo: sandbox.merchant, extra: { feePayer: sandbox.feePayer }, ...change });

/** Pays a Solana Pay link as a wallet app does. */
async function send(link: string | undefined): Promise<void> {
  const { protocol, pathname, searchParams } = new URL(link ?? '');
  expect(protocol).toBe('solana:');
  const mint = Object.values(sandbox.mints).find(
    (known) => known.address === (searchParams.get('spl-token') ?? sandbox.mints.SOL.address),
  )!;
  const [whole = '0', fraction = ''] = (searchParams.get('amount') ?? '').split('.');
  const amount = BigInt(whole + fraction.padEnd(mint.decimals, '0'));
  if (mint.symbol === 'SOL') sandbox.chain.fundSol(address(pathname), amount);
  else await sandbox.chain.fundToken(address(pathname), mint, amount);
}

describe('a wallet without enough funds', () => {
  it('is refused with insufficient_funds when it is empty', async () => {
    const payer = await payerOn(sandbox, {}, { autoSwap: true });
    const error = await refusal(sandbox, payer, 'insufficient_funds', () =>
      payer.client.fetch(url('/usdc')),
    );
    expect(error).toMatchObject({
      name: 'FundsError',
      retry: 'never',
      details: { mint: usdc(), required: '10000', available: '0' },
    });
    expect(error.message).toContain('needs 0.01 USDC, the wallet ');
    expect(error.message).toMatch(/Fund the wallet/);
    expect(error.response?.status).toBe(402);
    expect(await error.response?.json()).toBeDefined();
  });

  it('is refused with a link for the missing amount, and pays after a transfer of it', async () => {
    const payer = await payerOn(
      sandbox,
      { SOL: '0.05', USDC: '0.009999' },
      { autoSwap: true, swapFrom: ['USDT'] },
    );
    const error = await refusal(sandbox, payer, 'insufficient_funds', () =>
      payer.client.fetch(url('/usdc')),
    );
    expect(error.details).toEqual({
      ...{ mint: usdc(), required: '10000', available: '9999' },
      link: `solana:${payer.address}?amount=0.000001&spl-token=${usdc()}`,
    });
    expect(error.message).toContain('no token of swapFrom that it holds');
    expect(error.message).toContain(`(${error.details.link})`);
    await send(error.details.link);
    expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
  });

  it.each([true, false])(
    'pays the next call from the rest after a price was too high (autoSwap: %s)',
    async (autoSwap) => {
      // The client learns nothing of the first payment's landing, so it holds the tokens.
      sandbox.controls.node.fault('getSignatureStatuses', { kind: 'hang' }, 'client');
      const rpcUrl = `${sandbox.rpcUrl}/?caller=client`;
      const policy = { maxPerPayment: '5.00' };
      const payer = await payerOn(sandbox, { USDC: '0.02' }, { autoSwap, rpcUrl, policy });
      expect((await payer.client.fetch(url('/usdc'))).status).toBe(200);
      await failureOf(payer.client.fetch(url('/expensive')), 'insufficient_funds');
      expect((await payer.client.fetch(url('/usdc?again'))).status).toBe(200);
    },
  );

  it('is refused without a quote when it holds another token and autoSwap is off', async () => {
    const payer = await payerOn(sandbox, { SOL: '1', BONK: '5000000' });
    const before = sandbox.controls.aggregator.calls();
    const error = await refusal(sandbox, payer, 'insufficient_funds', () =>
      payer.client.fetch(url('/usdc')),
    );
    expect(error).toMatchObject({
      retry: 'never',
      details: { mint: usdc(), required: '10000', available: '0' },
    });
    expect(error.message).toMatch(/Turn autoSwap on/);
    expect(sandbox.controls.aggregator.calls()).toBe(before);
  });

  it('is refused with the exact lamports that its swap needs when it holds no SOL', async () => {
    const payer = await payerOn(sandbox, { BONK: '5000000' }, { autoSwap: true });
    const error = await refusal(sandbox, payer, 'insufficient_sol', () =>
      payer.client.fetch(url('/usdc')),
    );
    expect(error).toMatchObject({ name: 'FundsError', retry: 'never' });
    const { requiredLamports, availableLamports } = error.details;
    expect(availableLamports).toBe('0');
    expect(error.message).toMatch(/0\.\d+ SOL for network fees and rent; the wallet/);

    sandbox.chain.fundSol(address(payer.address), BigInt(requiredLamports) - 1n);
    const again = await refusal(sandbox, payer, 'insufficient_sol', () =>
      payer.client.fetch(url('/usdc')),
    );
    expect(again.details).toMatchObject({
      requiredLamports,
      availableLamports: (BigInt(requiredLamports) - 1n).toString(),
    });
    await send(again.details.link);
    const response = await payer.client.fetch(url('/usdc'));
    expect(response.status).toBe(200);
    expect(receiptOf(response)?.swap).toMatchObject({ inputMint: bonk(), outputMint: usdc() });
  });

  it.each([
    ['too little for a swap and its fees', '0.001', {}, ', beyond 0.008 SOL for fees,'],
    ['that it may not spend', '1', { swapFrom: ['USDT'] }, 'no token of swapFrom that it holds is'],
  ])('is refused when it holds only SOL, %s', async (_, SOL, options, words) => {
    const payer = await payerOn(sandbox, { SOL }, { autoSwap: true, ...options });
    const error = await refusal(sandbox, payer, 'insufficient_funds', () =>
      payer.client.fetch(url('/usdc')),
    );
    expect(error.message).toContain(words);
    expect(error.details).toMatchObject({ required: '10000', available: '0' });
  });
});

describe('a call that needs a swap', () => {
  it('is refused with no_route when no held token has a route', async () => {
    sandbox.controls.aggregator.noRoute('*', 'USDC');
    const payer = await payerOn(sandbox, { SOL: '1', BONK: '5000000' }, { autoSwap: true });
    const error = await refusal(sandbox, payer, 'no_route', () => payer.client.fetch(url('/usdc')));
    expect(error).toMatchObject({
      name: 'QuoteError',
      retry: 'never',
      details: { outputMint: usdc() },
    });
    expect([bonk(), sandbox.mints.SOL.address]).toContain(error.details.inputMint);
  });

  it('is refused when the price impact is too high', async () => {
    sandbox.controls.aggregator.setPriceImpact('BONK', 'USDC', 250);
    const payer = await payerOn(
      sandbox,
      { SOL: '0.02', BONK: '5000000' },
      { autoSwap: true, swapFrom: [bonk()] },
    );
    const error = await refusal(sandbox, payer, 'price_impact_too_high', () =>
      payer.client.fetch(url('/usdc')),
    );
    expect(error).toMatchObject({ name: 'QuoteError', retry: 'fresh', details: { limitBps: 100 } });
    expect(error.details.priceImpactBps).toBeGreaterThanOrEqual(250);
    expect(error.message).toContain(String(error.details.priceImpactBps));
  });

  it('is refused when a swap between two stablecoins loses too much', async () => {
    sandbox.controls.aggregator.setPrice('USDT', 900_000n);
    const payer = await payerOn(
      sandbox,
      { SOL: '0.02', USDT: '5' },
      { autoSwap: true, swapFrom: ['USDT'] },
    );
    const error = await refusal(sandbox, payer, 'swap_overhead_too_high', () =>
      payer.client.fetch(url('/usdc')),
    );
    expect(error).toMatchObject({ name: 'QuoteError', retry: 'fresh', details: { limitBps: 100 } });
    expect(error.details.lossBps).toBeGreaterThan(900);
  });

  it('is refused when the rent is above policy.maxRentLamports', async () => {
    const payer = await payerOn(
      sandbox,
      { SOL: '0.05', BONK: '5000000' },
      { autoSwap: true, swapFrom: [bonk()], policy: { maxRentLamports: 2_000_000n } },
    );
    const error = await refusal(sandbox, payer, 'fees_over_limit', () =>
      payer.client.fetch(url('/usdc')),
    );
    expect(error).toMatchObject({
      name: 'PolicyError',
      retry: 'fresh',
      details: { lamports: '2039280', limitLamports: '2000000' },
    });
  });
});

describe("a call under the caller's policy", () => {
  it('is refused when the price is above maxPerPayment', async () => {
    const payer = await payerOn(sandbox, { USDC: '50' });
    const error = await refusal(sandbox, payer, 'amount_over_limit', () =>
      payer.client.fetch(url('/expensive')),
    );
    expect(error).toMatchObject({
      name: 'PolicyError',
      retry: 'never',
      details: { cap: 'maxPerPayment', amount: '2.5', unit: 'USD' },
    });
    expect(Number(error.details.limit)).toBe(1);
    expect(error.message).toMatch(/2\.5 USD.*policy\.maxPerPayment/);
  });

  it('is refused when the price is above maxAmount of its mint', async () => {
    const payer = await payerOn(
      sandbox,
      { USDC: '50' },
      { policy: { maxAmount: { USDC: '9999' } } },
    );
    const error = await refusal(sandbox, payer, 'amount_over_limit', () =>
      payer.client.fetch(url('/usdc')),
    );
    expect(error.details).toEqual({
      cap: 'maxAmount',
      limit: '9999',
      amount: '10000',
      unit: usdc(),
    });
  });

  it('is refused for a token without a price unless maxAmount allows it', async () => {
    sandbox.controls.aggregator.noRoute('BONK', '*');
    const payer = await payerOn(sandbox, { BONK: '5000000' });
    const error = await refusal(sandbox, payer, 'price_unknown', () =>
      payer.client.fetch(url('/bonk')),
    );
    expect(error).toMatchObject({ name: 'PolicyError', retry: 'never', details: { mint: bonk() } });
    expect(error.message).toMatch(/policy\.maxAmount/);

    const allowed = payer.again({ policy: { maxAmount: { [bonk()]: 123_456_789n } } });
    const response = await allowed.fetch(url('/bonk'));
    expect(response.status).toBe(200);
    expect(receiptOf(response)?.payment).toMatchObject({ mint: bonk(), amount: '123456789' });
    expect(receiptOf(response)?.cost.usd).toBeUndefined();
  });
});

describe('an offer that the client cannot pay', () => {
  it.each([
    ['Solana devnet', 'solana-devnet', SOLANA_DEVNET],
    ['an EVM chain', 'eip155:8453', 'other'],
  ])('is refused on another network: %s', async (_, network, named) => {
    terms = envelopeV2([offer({ network })]);
    const payer = await payerOn(sandbox, { USDC: '50' });
    const error = await refusal(sandbox, payer, 'unsupported_network', () =>
      payer.client.fetch(seller.url),
    );
    expect(error).toMatchObject({
      name: 'ProtocolError',
      retry: 'never',
      details: { network: named },
      untrusted: { network },
    });
    expect(error.message).not.toContain(network);
  });

  it('is refused with another scheme', async () => {
    terms = envelopeV2([offer({ scheme: 'upto' })]);
    const payer = await payerOn(sandbox, { USDC: '50' });
    const error = await refusal(sandbox, payer, 'unsupported_offer', () =>
      payer.client.fetch(seller.url),
    );
    expect(error).toMatchObject({
      name: 'ProtocolError',
      retry: 'never',
      untrusted: { scheme: 'upto' },
    });
  });

  it('is refused when its mint does not exist', async () => {
    const mint = 'GyGKxMyg1p9SsHfm15MkNUu1u9TN2JtTspcdmrtGUdse';
    terms = envelopeV2([offer({ asset: mint })]);
    const payer = await payerOn(sandbox, { USDC: '50' });
    const error = await refusal(sandbox, payer, 'unknown_mint', () =>
      payer.client.fetch(seller.url),
    );
    expect(error).toMatchObject({ name: 'FundsError', retry: 'never', details: { mint } });
  });

  it('is listed with its reason when no offer of the 402 can be paid', async () => {
    const mint = 'GyGKxMyg1p9SsHfm15MkNUu1u9TN2JtTspcdmrtGUdse';
    terms = envelopeV2([
      offer({ network: 'eip155:8453' }),
      offer({ scheme: 'upto' }),
      offer({ amount: '1e3' }),
      offer({ asset: mint }),
      offer({ amount: '60000000' }),
      offer({ amount: '900000', asset: sandbox.mints.USDT.address }),
    ]);
    const payer = await payerOn(sandbox, { USDC: '50' });
    const error = await refusal(sandbox, payer, 'no_payable_offer', () =>
      payer.client.fetch(seller.url),
    );
    expect(error).toMatchObject({ name: 'ProtocolError', retry: 'never' });
    expect(error.details.offers.map(({ index, code }) => [index, code])).toEqual([
      [0, 'unsupported_network'],
      [1, 'unsupported_offer'],
      [2, 'malformed_payment_required'],
      [3, 'unknown_mint'],
      [4, 'amount_over_limit'],
      [5, 'insufficient_funds'],
    ]);
    for (const { message } of error.details.offers) expect(message).toMatch(/\.$/);
  });

  it('is refused when the node at rpcUrl serves another network', async () => {
    const payer = await payerOn(sandbox, { USDC: '50' }, { network: 'solana-devnet' });
    terms = envelopeV2([offer({ network: SOLANA_DEVNET })]);
    const error = await refusal(sandbox, payer, 'rpc_wrong_network', () =>
      payer.client.fetch(seller.url),
    );
    expect(error).toMatchObject({
      name: 'TransportError',
      retry: 'never',
      details: { expected: SOLANA_DEVNET, actual: SOLANA_MAINNET },
    });
    expect(error.message).toMatch(/rpcUrl/);
    // A swap without a payment is refused too.
    await failureOf(
      payer.client.swap({ inputMint: usdc(), outputMint: bonk(), amount: 1_000n }),
      'rpc_wrong_network',
    );
  });
});

describe('a call after close()', () => {
  it('is refused with client_closed, and a free fetch still works', async () => {
    const payer = await payerOn(sandbox, { USDC: '50' });
    for (const _ of [1, 2]) await payer.client.close();
    for (const call of [() => payer.client.balance(), () => payer.client.spent()]) {
      const error = await failureOf(call(), 'client_closed');
      expectUntouched(error);
      expect(error.name).toBe('ConfigError');
    }
    // An equal call may have paid before, and a closed client reads no journal.
    for (const call of [() => payer.client.fetch(url('/usdc')), () => payer.client.resume()]) {
      const unread = await failureOf(call(), 'client_closed');
      expect(unread).toMatchObject({ name: 'ConfigError', funds: 'uncertain', retry: 'never' });
    }
    expect((await payer.client.fetch(url('/free'))).status).toBe(200);
  });
});
