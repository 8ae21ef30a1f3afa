import { memoryJournal } from 'exact-change';
import { createSandbox, type Sandbox } from 'exact-change/sandbox';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { buyerOf, startService } from '../helpers/auto-pay.js';
import { closePayers, failureOf, payerOn } from '../helpers/payer.js';
import { answerTerms, startSeller } from '../helpers/seller.js';
import { offerOf } from '../helpers/settling.js';

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await createSandbox({ confirmationMs: 20 });
});
afterEach(async () => {
  sandbox.controls.aggregator.restore();
  await closePayers();
});
afterAll(() => sandbox.close());

const total = (calls: Readonly<Record<string, number>>) => Object.values(calls).reduce((sum, count) => sum + count, 0);

/** A seller that asks for each of many tokens that only it gives a price. */
async function sellerOfMany(count: number, tradable: boolean): Promise<string> {
  const accepts: unknown[] = [];
  for (let index = 0; index < count; index += 1) {
    const mint = await sandbox.createMint({ decimals: 6, picoUsd: 1_000_000n });
    if (!tradable) sandbox.controls.aggregator.noRoute(mint.symbol, 'USDC');
    accepts.push(offerOf(sandbox, { asset: mint.address, amount: '10000' }));
  }
  const seller = await startSeller((_, response) => answerTerms(response, { x402Version: 2, accepts }));
  onTestFinished(() => seller.close());
  return seller.url;
}

describe('one 402 with many tokens that its seller made', () => {
  it.each([
    ['without a market', false],
    ['with a market of its own', true],
  ])('%s costs few questions to Jupiter, and no more the second time', { timeout: 60_000 }, async (_, tradable) => {
    const url = await sellerOfMany(31, tradable);
    const payer = await payerOn(sandbox, { SOL: '1', USDC: '5' }, { autoSwap: true });
    const { aggregator } = sandbox.controls;
    for (let call = 0; call < 2; call += 1) {
      aggregator.resetCalls();
      await failureOf(payer.client.fetch(url));
      expect(aggregator.calls()).toBeLessThanOrEqual(20);
    }
    // An honest purchase beside it needs none.
    aggregator.resetCalls();
    expect((await payer.client.fetch(`${sandbox.apiUrl}/usdc`)).status).toBe(200);
    expect(aggregator.calls()).toBe(0);
  });
});

describe('a wallet with as many open payments as a service keeps', () => {
  it('costs a plan few calls of the node, and gets no more of them', { timeout: 120_000 }, async () => {
    const service = await startService(sandbox, memoryJournal(), { policy: { maxPerDay: '100' } });
    onTestFinished(() => service.close());
    const wallet = await sandbox.createWallet({ USDC: '5' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/usdc`);
    const statuses: number[] = [];
    while (statuses.length < 60 && !statuses.includes(429)) {
      const { body } = await buyer.post(service);
      const { status } = await buyer.post(service, { signedPayment: await buyer.sign(body.payment?.transaction) });
      statuses.push(status);
    }
    expect([statuses.filter((status) => status === 200).length, statuses[statuses.length - 1]]).toEqual([32, 429]);
    const { node } = sandbox.controls;
    node.resetCalls();
    expect((await buyer.post(service)).body.state).toBe('ready_to_sign');
    expect(total(node.callsByMethod('client'))).toBeLessThanOrEqual(12);
  });
});
