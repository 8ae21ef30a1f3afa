import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit';
import type { SandboxWallet } from 'exact-change-sandbox';
import { createPaymentHeader } from 'x402/client';
import { PaymentRequirementsSchema, settleResponseFromHeader } from 'x402/types';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LEGACY_PRICE, startLegacySeller, type LegacySeller } from '../fixtures/legacy/seller.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 0 });
let buyer: SandboxWallet;

beforeAll(async () => {
  buyer = await sandbox.createWallet({ SOL: '1', USDC: '1' });
});

// Version 1 has no memo, so equal payments on one blockhash would be the same transaction.
beforeEach(() => void sandbox.controls.node.warp(1));

/** Makes a paid call with the client of the first generation (`x402/client`). */
async function payLegacy(
  url: string,
  init: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> } = {},
): Promise<{ terms: unknown; response: Response }> {
  const unpaid = await fetch(url, init);
  expect(unpaid.status).toBe(402);
  const terms = (await unpaid.json()) as { accepts: unknown[] };
  const requirements = PaymentRequirementsSchema.parse(terms.accepts[0]);
  const signer = await createKeyPairSignerFromBytes(getBase58Encoder().encode(buyer.secretKey));
  const header = await createPaymentHeader(signer, 1, requirements, {
    svmConfig: { rpcUrl: sandbox.rpcUrl },
  });
  return {
    terms,
    response: await fetch(url, { ...init, headers: { ...init.headers, 'x-payment': header } }),
  };
}

describe.each(['legacy', 'current'] as const)(
  'a legacy seller with the %s facilitator',
  (facilitator) => {
    let seller: LegacySeller;
    beforeAll(async () => {
      seller = await startLegacySeller(sandbox, { facilitator });
    });
    afterAll(() => seller.close());

    it('offers version 1 terms in the body of its 402', async () => {
      const unpaid = await fetch(`${seller.url}/usdc`);
      expect(unpaid.headers.get('payment-required')).toBeNull();
      const terms = (await unpaid.json()) as { accepts: { extra: { feePayer: string } }[] };
      expect(terms).toMatchObject({
        x402Version: 1,
        accepts: [
          {
            scheme: 'exact',
            network: 'solana',
            maxAmountRequired: LEGACY_PRICE.toString(),
            asset: sandbox.mints.USDC.address,
            payTo: sandbox.merchant,
          },
        ],
      });
      expect(terms.accepts[0]?.extra.feePayer === sandbox.feePayer).toBe(facilitator === 'current');
    });

    it.each([
      ['GET', '/usdc', null],
      ['POST', '/echo', { hello: 'world' }],
    ] as const)('gets the payment of the legacy client for %s %s', async (method, path, body) => {
      const before = await sandbox.balance(sandbox.merchant, 'USDC');
      const { response } = await payLegacy(seller.url + path, {
        method,
        ...(body === null
          ? {}
          : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      });
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ ok: true, method, body });
      expect((await sandbox.balance(sandbox.merchant, 'USDC')) - before).toBe(LEGACY_PRICE);
      expect(
        settleResponseFromHeader(response.headers.get('x-payment-response') ?? ''),
      ).toMatchObject({
        success: true,
        payer: buyer.address,
      });
      expect(seller.sales.at(-1)).toMatchObject({ method, url: path });
    });
  },
);
