import { declareDiscoveryExtension } from '@x402/extensions/bazaar';
import { expect, it, onTestFinished } from 'vitest';
import { decided } from '../helpers/flow.js';
import { startSeller } from '../helpers/flow-seller.js';
import { payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

it('pays a seller of a catalogue with fractions beside the price in its terms', async () => {
  const entry = declareDiscoveryExtension({
    input: { from: 'USD', to: 'EUR', amount: 12.5 },
    inputSchema: { properties: { amount: { type: 'number' } } },
    output: { example: { amount: 11.25, maxAmountRequired: 1e21, rate: 0.9 } },
  });
  const display = { amount: 0.01, currency: 'USD' };
  const offered = { symbol: 'USDC', amount: '10000', extra: { display } } as const;
  const seller = await startSeller(sandbox, { 'GET /convert': [offered] }, entry);
  onTestFinished(() => seller.close());
  const { client } = await payerOn(sandbox, { SOL: '0.1', USDC: '1' });
  const response = await client.fetch(`${seller.url}/convert`);
  expect([response.status, await response.json()]).toEqual([200, { ok: true, path: '/convert' }]);
  expect((await decided(response)).state).toBe('settled');
  const [sale] = seller.sales;
  const echo = JSON.parse(Buffer.from(sale?.paymentHeader ?? '', 'base64').toString()) as object;
  expect(echo).toMatchObject({
    accepted: { amount: '10000', extra: { display } },
    extensions: { bazaar: { info: { input: { queryParams: { amount: 12.5 } } } } },
  });
});
