import { createClient, local, type PaymentResult } from 'exact-change';
import { apiKeys, createHandler } from 'exact-change/http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { termsOf } from '../contract/transport-contract.js';
import { findNeedles, keyNeedles, tap, type Needle, type Tap } from '../helpers/capture.js';
import { landed, until } from '../helpers/chain.js';
import { decided, signedByKit } from '../helpers/flow.js';
import { MOUNTS, type Mounted } from '../helpers/mounts.js';
import { secretBytes } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { signaturesIn, transactionsIn } from '../helpers/signed-traffic.js';

const SERVICE_KEY = 'service-api-key-5a90cf31';
/** Secrets of the caller that the service must not get. */
const OTHERS: readonly Needle[] = [
  { name: 'the key for Jupiter', text: 'jupiter-api-key-8d2e7b' },
  { name: 'the key for the node', text: 'rpc-provider-key-4f1c9a' },
  { name: 'the query of the seller’s address', text: 'secret-of-the-address-91ab' },
  { name: 'the value of the request’s header', text: 'secret-of-the-header-03ce' },
  { name: 'the value of the cookie', text: 'secret-of-the-cookie-7c55' },
];
const [JUPITER_KEY = '', RPC_KEY = '', IN_ADDRESS = '', IN_HEADER = '', IN_COOKIE = ''] =
  OTHERS.map(({ text }) => text);
/**
 * Names that reach a service only if its caller chose to submit through it. Names of headers come
 * in any case.
 */
const SUBMITTED = /payment-signature|x-payment|signedSwap|signedPayment/i;

const sandbox = await useSandbox({ confirmationMs: 20 });
let service: Mounted;
let line: Tap;
let plans = true;

beforeAll(async () => {
  const { rpcUrl, jupiterUrl } = sandbox;
  const handler = createHandler(local({ rpcUrl, jupiterUrl }), {
    basePath: '/pay',
    authorize: apiKeys([SERVICE_KEY]),
  });
  const express = MOUNTS.find(({ name }) => name === 'express');
  if (express === undefined) throw new Error('There is a mount for Express.');
  const unknown = ({ url }: Request) => !plans && url.endsWith('/auto-pay');
  service = await express.start(async (request) =>
    unknown(request) ? new Response('Not Found', { status: 404 }) : handler(request),
  );
});
beforeEach(async () => {
  // Each test scans the traffic of this test alone.
  line = await tap(Number(new URL(service.url).port));
  return () => line.close();
});
afterAll(async () => {
  await service.close();
});

const apiUrl = () => `http://127.0.0.1:${line.port}/pay`;

describe('the main job through Express', () => {
  it.each([
    ['plans its swap', true, ['POST /pay/api/x402/auto-pay']],
    [
      'quotes and builds its swap',
      false,
      ['POST /pay/api/x402/auto-pay', 'GET /pay/api/quote', 'POST /pay/api/swap/build'],
    ],
  ])('sends no secret and nothing signed to a service that %s', async (_, able, calls) => {
    plans = able;
    const wallet = await sandbox.createWallet({ SOL: '0.5', BONK: '5000000' });
    const client = createClient({
      ...{
        walletSecretKey: wallet.secretKey,
        apiUrl: apiUrl(),
        apiKey: SERVICE_KEY,
        autoSwap: true,
      },
      ...{
        rpcUrl: `${sandbox.rpcUrl}/?key=${RPC_KEY}`,
        jupiterUrl: sandbox.jupiterUrl,
        jupiterApiKey: JUPITER_KEY,
      },
    });
    const response = await client.fetch(`${sandbox.apiUrl}/usdc?token=${IN_ADDRESS}`, {
      headers: { authorization: `Bearer ${IN_HEADER}`, cookie: `session=${IN_COOKIE}` },
    });
    expect(response.status).toBe(200);
    const receipt = await decided(response);
    await client.close();
    expect(receipt).toMatchObject({
      state: 'settled',
      payment: { mint: sandbox.mints.USDC.address, amount: '10000' },
    });
    const swapSignature = receipt.swap?.signature ?? '';
    expect((await landed(sandbox.rpcUrl, swapSignature)).error).toBeNull();

    expect(
      [...line.sent.matchAll(/(GET|POST) (\/[^ ?]*)\S* HTTP/g)].map(
        ([, method = '', path = '']) => `${method} ${path}`,
      ),
    ).toEqual(calls);
    expect(
      findNeedles(line.sent, [{ name: 'the API key', text: `Bearer ${SERVICE_KEY}` }]),
    ).toEqual(['the API key']);
    const made = [swapSignature, receipt.payment.payerSignature].map((text) => ({
      name: 'a signature',
      text,
    }));
    expect(
      findNeedles(line.sent, [...keyNeedles(secretBytes(wallet.secretKey)), ...OTHERS, ...made]),
    ).toEqual([]);
    expect(signaturesIn(line.sent)).toEqual([]);
    expect(line.sent).not.toMatch(SUBMITTED);
    // The service built the swap, and cannot sign it.
    expect(transactionsIn(line.received)).toEqual([{ signatures: [] }]);
  });

  it('finds the signatures of a caller that submits through the service', async () => {
    plans = true;
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const url = `${sandbox.apiUrl}/usdc`;
    const asked = { paymentRequired: await termsOf(url), wallet: wallet.address, autoSwap: true };
    const first = await autoPay(asked);
    expect(first.state).toBe('swap_required');
    const signedSwap = (await signedByKit(wallet, first.swap?.transaction)).wire;
    const second = await until('the swap is confirmed', async () => {
      const answer = await autoPay({ ...asked, signedSwap });
      return answer.state === 'swap_submitted' ? undefined : answer;
    });
    const signedPayment = (await signedByKit(wallet, second.payment?.transaction)).wire;
    const third = await autoPay({ ...asked, signedPayment });
    const paid = await fetch(url, {
      headers: { [third.header?.name ?? '']: third.header?.value ?? '' },
    });
    expect(paid.status).toBe(200);

    const [swap, payment] = [signedSwap, signedPayment].map((text) => signaturesIn(text));
    expect([swap?.length, payment?.length]).toEqual([1, 1]);
    expect(signaturesIn(line.sent)).toEqual([...(swap ?? []), ...(payment ?? [])]);
    expect(line.sent).toMatch(SUBMITTED);
    expect(findNeedles(line.sent, keyNeedles(secretBytes(wallet.secretKey)))).toEqual([]);
    // The service returns the payment in a header, as a seller gets it.
    expect(signaturesIn(line.received)).toEqual(payment);
  });
});

/** Makes one step of auto-pay, as a shell script would. */
async function autoPay(body: object): Promise<PaymentResult> {
  const response = await fetch(`${apiUrl()}/api/x402/auto-pay`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': SERVICE_KEY },
    body: JSON.stringify(body),
  });
  // The tests of the service check this shape.
  const answer = (await response.json()) as PaymentResult;
  expect({ status: response.status, answer }).toMatchObject({ status: 200 });
  return answer;
}
