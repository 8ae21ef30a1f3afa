import { address } from '@solana/kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { entryV2, envelopeV2 } from '../fixtures/malformed-402.js';
import { mintBytes, TOKEN } from '../helpers/mint-bytes.js';
import { payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, startSeller, type Seller } from '../helpers/seller.js';
import { refusal } from '../helpers/untouched.js';

const IMITATION = '9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu';

interface Change {
  readonly asset?: string;
  readonly extra?: object;
}

const sandbox = await useSandbox({ confirmationMs: 20 });
let seller: Seller;
let terms: unknown;

beforeAll(async () => {
  seller = await startSeller((_, response) => answerTerms(response, terms));
});
afterAll(async () => {
  await seller.close();
});

const offer = ({ extra, ...change }: Change) =>
  entryV2({ payTo: sandbox.merchant, extra: { feePayer: sandbox.feePayer, ...extra }, ...change });

describe('a seller', () => {
  it.each([30, '7', { of: 6 }])(
    'is refused when it claims other decimals: %j',
    async (decimals) => {
      const payer = await payerOn(
        sandbox,
        { USDC: '1', SOL: '0.1', BONK: '1000000' },
        { autoSwap: true },
      );
      terms = envelopeV2([offer({ extra: { decimals } })]);
      await refusal(sandbox, payer, 'unsupported_offer', () => payer.client.fetch(seller.url));
      expect(seller.paid).toEqual([]);
    },
  );

  it('is refused when it asks for a token that only calls itself USDC', async () => {
    sandbox.chain.setAccount(address(IMITATION), {
      lamports: 10n ** 9n,
      data: mintBytes(6),
      owner: address(TOKEN),
      executable: false,
    });
    const imitation = { ...sandbox.mints.USDC, address: address(IMITATION) };
    await sandbox.chain.fundToken(address(sandbox.merchant), imitation, 1n);
    const payer = await payerOn(sandbox, { USDC: '1', SOL: '0.1' });
    await sandbox.chain.fundToken(address(payer.address), imitation, 10n ** 9n);
    terms = envelopeV2([
      offer({ asset: IMITATION, extra: { name: 'USDC', symbol: 'USDC', decimals: 6 } }),
    ]);
    const { details } = await refusal(sandbox, payer, 'price_unknown', () =>
      payer.client.fetch(seller.url),
    );
    expect(details.mint).toBe(IMITATION);
    expect(seller.paid).toEqual([]);
  });

  it.each([6, '6', null, undefined])(
    'is paid when it claims the decimals of the mint, or no decimals: %j',
    async (decimals) => {
      const payer = await payerOn(sandbox, { USDC: '1' });
      terms = envelopeV2([offer({ extra: { decimals } })]);
      const { payment } = await payer.client.plan(seller.url);
      expect(payment).toMatchObject({ mint: sandbox.mints.USDC.address, decimals: 6 });
    },
  );
});
