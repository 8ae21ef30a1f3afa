import { receiptOf, type ClientOptions } from 'exact-change';
import { describe, expect, it, onTestFinished } from 'vitest';
import { buildClient } from '../../src/client.js';
import { parts } from '../../src/parts.js';
import { decided } from '../helpers/flow.js';
import { failureOf, recordingSigner } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { type SeenRequest, sellerOfTest } from '../helpers/seller.js';
import { offerOf } from '../helpers/settling.js';
import { TILL_PAYMENT, TILL_TERMS, TILL_WORD, till } from '../helpers/till.js';

// These tests show that a protocol is one folder and one line: the client below has two protocols,
// and only test/helpers/till.ts knows the form of the second.

const sandbox = await useSandbox({ confirmationMs: 20 });
const AMOUNT = 10_000n;

async function payer(options: ClientOptions = {}) {
  const { address, secretKey } = await sandbox.createWallet({ USDC: '1' });
  const { signer, signed } = recordingSigner(address, secretKey);
  const { rpcUrl, wsUrl, jupiterUrl } = sandbox;
  const client = buildClient(
    { rpcUrl, wsUrl, jupiterUrl, signer, ...options },
    {
      headers: [...parts.protocols, till].flatMap((protocol) => protocol.headers),
      load: () => Promise.resolve({ ...parts, protocols: [...parts.protocols, till] }),
    },
  );
  onTestFinished(() => client.close());
  return { client, signed };
}

const paid = () => sandbox.balance(sandbox.merchant, 'USDC');

/** Has the facilitator settle the payment in the header. */
async function settle({ headers }: Pick<SeenRequest, 'headers'>): Promise<string> {
  const accepted = offerOf(sandbox, { amount: AMOUNT.toString() });
  const payload = { transaction: String(headers[TILL_PAYMENT]) };
  const response = await fetch(`${sandbox.facilitatorUrl}/settle`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      paymentPayload: { x402Version: 2, accepted, payload },
      paymentRequirements: accepted,
    }),
  });
  const { success } = (await response.json()) as { success: boolean };
  return success ? 'paid' : 'refused';
}

/** Starts a seller that offers the second protocol alone. */
async function tillSeller(ends: 'answers' | 'refuses' = 'answers') {
  return sellerOfTest((request, response) => {
    if (request.headers[TILL_PAYMENT] === undefined) {
      const terms = `mint=${sandbox.mints.USDC.address} amount=${AMOUNT} to=${sandbox.merchant} fee-payer=${sandbox.feePayer}`;
      return void response.writeHead(402, { [TILL_TERMS]: terms }).end();
    }
    if (ends === 'refuses') return void response.writeHead(402, { [TILL_WORD]: 'not today' }).end();
    settle(request).then(
      (word) => response.writeHead(200, { [TILL_WORD]: word }).end('sold'),
      () => request.socket.destroy(),
    );
  });
}

describe('a client of two protocols', () => {
  it('pays a seller of the second protocol within its caps, and parses its terms', async () => {
    const { client, signed } = await payer();
    const seller = await tillSeller();
    const before = await paid();
    const response = await client.fetch(seller.url);
    expect([response.status, await response.text()]).toEqual([200, 'sold']);
    expect(await decided(response)).toMatchObject({
      state: 'settled',
      payment: { amount: AMOUNT.toString(), payTo: sandbox.merchant },
    });
    expect((await paid()) - before).toBe(AMOUNT);
    expect(signed.map(({ kind }) => kind)).toEqual(['payment']);
    expect((await client.spent())[0]?.used).toBe('0.01');
    expect(await client.parse(await fetch(seller.url))).toMatchObject({
      accepts: [{ amount: AMOUNT.toString() }],
    });
  });

  it('pays a seller of x402 as before', async () => {
    const { client } = await payer();
    const response = await client.fetch(`${sandbox.apiUrl}/usdc`);
    expect(response.status).toBe(200);
    expect(receiptOf(response)?.payment.amount).toBe('10000');
  });

  it('reports the reason of a refusal in the second protocol', async () => {
    const { client } = await payer();
    const seller = await tillSeller('refuses');
    const error = await failureOf(client.fetch(seller.url), 'payment_rejected');
    expect(error.untrusted).toEqual({ reason: 'not today' });
  });

  it('refuses a payment above its caps', async () => {
    const { client, signed } = await payer({ policy: { maxPerPayment: '0.009' } });
    const seller = await tillSeller();
    await failureOf(client.fetch(seller.url), 'amount_over_limit');
    expect(signed).toEqual([]);
  });

  it('returns the header of the second protocol, and pays no call that has it', async () => {
    const { client, signed } = await payer();
    const seller = await tillSeller('refuses');
    const { header } = await client.pay(await fetch(seller.url));
    expect(header.name).toBe(TILL_PAYMENT);
    const response = await client.fetch(seller.url, { headers: { [header.name]: header.value } });
    expect([response.status, signed.length]).toEqual([402, 1]);
  });
});
