import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { createClient, isExactChangeError, settled } from 'exact-change';
import { exactChangeScheme, withPayment } from 'exact-change/x402';
import { describe, expect, it } from 'vitest';
import { envelopeV1 } from '../fixtures/malformed-402.js';
import { payerOn, type Payer } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { isPaid, sellerOfTest } from '../helpers/seller.js';
import { answer, offerV1Of, settle } from '../helpers/settling.js';

const MAINNET = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';
const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });

/** Returns an official client that pays through a client of this library. */
function official(payer: Payer) {
  const failures: unknown[] = [];
  const scheme = exactChangeScheme(payer.client);
  const client = new x402Client()
    .register(MAINNET, scheme)
    .registerV1('solana', scheme)
    .onPaymentCreationFailure(async ({ error }) => void failures.push(error));
  return { client, failures, fetch: wrapFetchWithPayment(fetch, client) };
}

const received = () => sandbox.balance(sandbox.merchant, 'USDC');

describe('the official client with the scheme of this library', () => {
  it('swaps a held token into the missing token, and pays', async () => {
    const payer = await payerOn(sandbox, { SOL: '0.5', BONK: '100000' }, { autoSwap: true });
    const before = await received();
    const response = await official(payer).fetch(`${sandbox.apiUrl}/echo`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"n":1}',
    });
    expect([response.status, await response.json()]).toMatchObject([200, { body: { n: 1 } }]);
    expect((await received()) - before).toBe(10_000n);
    expect(payer.signed.map(({ kind }) => kind)).toEqual(['swap', 'payment']);
    const [receipt] = await listed(payer);
    expect(receipt).toMatchObject({ url: `${sandbox.apiUrl}/echo`, payment: { amount: '10000' } });
  });

  it('pays several calls at once, counts each call, and pays none beyond a cap', async () => {
    const policy = { maxPerDay: '0.03' };
    const payer = await payerOn(sandbox, { USDC: '1' }, { policy });
    const { fetch: pay, failures } = official(payer);
    const before = await received();
    const calls = Array.from({ length: 5 }, () => pay(`${sandbox.apiUrl}/usdc`));
    const statuses = (await Promise.allSettled(calls)).map((call) =>
      call.status === 'fulfilled' ? call.value.status : 'refused',
    );
    expect(statuses.sort()).toEqual([200, 200, 200, 'refused', 'refused']);
    expect((await received()) - before).toBe(30_000n);
    expect(failures).toHaveLength(2);
    for (const error of failures) expect(isExactChangeError(error, 'budget_exhausted')).toBe(true);
  });

  it('buys again when a call with a lost answer is repeated', async () => {
    const payer = await payerOn(sandbox, { USDC: '1' });
    const { fetch: pay } = official(payer);
    sandbox.controls.facilitator.fault('POST /settle', { kind: 'dropAfter', times: 1 });
    expect((await pay(`${sandbox.apiUrl}/usdc`)).status).toBe(402);
    expect((await pay(`${sandbox.apiUrl}/usdc`)).status).toBe(200);
    expect(await listed(payer)).toHaveLength(2);
  });

  it.each(['/pyusd', '/memo', '/blockhash', '/identified'])('pays for %s', async (path) => {
    const payer = await payerOn(sandbox, { USDC: '1', PYUSD: '1' });
    expect((await official(payer).fetch(sandbox.apiUrl + path)).status).toBe(200);
  });

  it('pays tokens other than pinned stablecoins once its own limits allow them', async () => {
    const payer = await payerOn(sandbox, { BONK: '1000000' }, { policy: { maxPerPayment: '10' } });
    const { client, fetch: pay } = official(payer);
    await expect(pay(`${sandbox.apiUrl}/bonk`)).rejects.toThrow();
    expect(payer.signed).toEqual([]);
    client.setSpendControls({ allowedAssets: true });
    expect((await pay(`${sandbox.apiUrl}/bonk`)).status).toBe(200);
  });

  it('pays a seller of version 1', async () => {
    const seller = await sellerOfTest((request, response) => {
      if (!isPaid(request)) return answer(response, 402, terms);
      void settle(sandbox, request, terms.accepts[0]).then(({ success }) =>
        answer(response, success ? 200 : 402, { ok: success }),
      );
    });
    const terms = {
      ...envelopeV1([offerV1Of(sandbox, { resource: `${seller.url}/v1` })]),
      accepts: [offerV1Of(sandbox, { resource: `${seller.url}/v1` })],
    };
    const payer = await payerOn(sandbox, { USDC: '1' });
    const response = await official(payer).fetch(`${seller.url}/v1`);
    expect([response.status, await response.json()]).toEqual([200, { ok: true }]);
  });

  it('signs nothing for terms that name no address', async () => {
    const payer = await payerOn(sandbox, { USDC: '1' });
    const scheme = exactChangeScheme(payer.client);
    await expect(scheme.createPaymentPayload(2, {})).rejects.toMatchObject({
      code: 'invalid_option',
    });
    expect(payer.signed).toEqual([]);
  });
});

describe('withPayment', () => {
  it('pays for requests of the given fetch', async () => {
    const { secretKey } = await sandbox.createWallet({ USDC: '1' });
    const urls: string[] = [];
    const through: typeof fetch = (input, init) => {
      urls.push(input instanceof Request ? input.url : String(input));
      return fetch(input, init);
    };
    const { rpcUrl, wsUrl, jupiterUrl } = sandbox;
    const pay = withPayment(through, { walletSecretKey: secretKey, rpcUrl, wsUrl, jupiterUrl });
    const response = await pay(`${sandbox.apiUrl}/usdc`);
    expect(response.status).toBe(200);
    // No caller can close this client: it watches its payment until the chain decides.
    expect(await settled(response)).toMatchObject({ state: 'settled' });
    expect(urls.filter((url) => url === `${sandbox.apiUrl}/usdc`)).toHaveLength(2);
  });

  it('refuses invalid options at once', () => {
    expect(() => withPayment(fetch, {})).toThrow(/walletSecretKey/);
    expect(() => createClient({})).toThrow(/walletSecretKey/);
  });
});

async function listed({ client }: Payer) {
  const found = [];
  for await (const receipt of client.receipts()) found.push(receipt);
  return found;
}
