import { describe, expect, it } from 'vitest';
import { systemRuntime } from '../../../../src/internal/runtime.js';
import { createRelayer } from '../../../../src/swaps/relayer/relayer.js';

const PAYER = '2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4';
const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
/** `String` throws a TypeError for it. */
const WITHOUT_TEXT = { toString: 1, valueOf: 1 };

/** Returns a relayer that answers every call with the same JSON. */
const answering = (answer: object) =>
  createRelayer({
    ...{ url: 'https://relayer.example', apiKey: undefined, timeoutMs: 2_000 },
    runtime: systemRuntime,
    fetch: () => Promise.resolve(new Response(JSON.stringify(answer))),
  });

describe('a relayer that answers with objects that cannot become text', () => {
  it('is believed to take only tokens that it names as text', async () => {
    const result = {
      ...{ signer_address: PAYER, payment_address: PAYER },
      validation_config: { allowed_spl_paid_tokens: [WITHOUT_TEXT, 7, USDC] },
    };
    await expect(answering({ result }).facts(undefined)).resolves.toEqual({
      ...{ feePayer: PAYER, payTo: PAYER },
      mints: [USDC],
    });
  });

  it.each([{ Allowlist: [USDC] }, {}, 'None', 7, true])(
    'is not believed to take any token for %j',
    async (allowed) => {
      const result = {
        ...{ signer_address: PAYER, payment_address: PAYER },
        validation_config: { allowed_spl_paid_tokens: allowed },
      };
      await expect(answering({ result }).facts(undefined)).rejects.toMatchObject({
        code: 'invalid_response',
        message: expect.stringContaining('names no tokens that it takes fees in'),
      });
    },
  );

  it('is refused with a typed error, and without a reason', async () => {
    await expect(
      answering({ error: { message: WITHOUT_TEXT } }).facts(undefined),
    ).rejects.toMatchObject({ code: 'service_unavailable', untrusted: { message: '' } });
  });
});
