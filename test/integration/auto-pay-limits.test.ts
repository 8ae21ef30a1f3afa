import { memoryJournal } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { entryV2, envelopeV2 } from '../fixtures/malformed-402.js';
import { buyerOf, startService } from '../helpers/auto-pay.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

describe.each([
  ['with a journal', memoryJournal],
  ['without a journal', () => undefined],
] as const)('the limits of a request to a service %s', (_, journalOf) => {
  const mint = sandbox.mints.BONK.address;
  const planned = async (operators: string | undefined, limit: string | undefined) => {
    // Without a route, the token has no price.
    sandbox.controls.aggregator.noRoute('BONK', '*');
    const policy = operators === undefined ? {} : { maxAmount: { [mint]: operators } };
    const service = await startService(sandbox, journalOf(), { policy });
    const wallet = await sandbox.createWallet({ BONK: '5000000' });
    const buyer = await buyerOf(wallet, `${sandbox.apiUrl}/bonk`);
    const limits = limit === undefined ? {} : { limits: { [mint]: limit } };
    return (await buyer.post(service, limits)).body;
  };

  it('allow no payment in a token without a price', async () => {
    expect(await planned(undefined, '123456789')).toMatchObject({ code: 'price_unknown' });
  });

  it("narrow the operator's limit, and do not widen it", async () => {
    expect(await planned('123456789', undefined)).toMatchObject({ state: 'ready_to_sign' });
    expect(await planned('123456789', '123456788')).toMatchObject({ code: 'amount_over_limit' });
    expect(await planned('123456788', '123456789')).toMatchObject({ code: 'amount_over_limit' });
  });

  it.each([
    ['short of the token', { SOL: '0.5', BONK: '5000000' }],
    ['with the token', { USDC: '1' }],
  ] as const)('plan no payment with a header that is too large, %s', async (_name, funds) => {
    const long = 'x'.repeat(3_900);
    const extra = { feePayer: sandbox.feePayer, a: long, b: long, c: long };
    const url = `${sandbox.apiUrl}/usdc`;
    const body = envelopeV2([entryV2({ payTo: sandbox.merchant, extra })]);
    const service = await startService(sandbox, journalOf());
    const buyer = await buyerOf(await sandbox.createWallet(funds), url);
    const answer = await buyer.post(service, { paymentRequired: { url, body } });
    expect(answer.body).toMatchObject({ code: 'header_too_large', funds: 'untouched' });
  });

  it('for each host bind a payment of a caller that names no address', async () => {
    const policy = { limits: [{ usd: '0.001', per: 'payment' as const, host: '*' }] };
    const service = await startService(sandbox, journalOf(), { policy });
    const buyer = await buyerOf(
      await sandbox.createWallet({ USDC: '1' }),
      `${sandbox.apiUrl}/usdc`,
    );
    const { url: _, ...paymentRequired } = buyer.paymentRequired;
    for (const more of [{}, { paymentRequired }])
      expect((await buyer.post(service, more)).body.state).toBeUndefined();
  });
});
