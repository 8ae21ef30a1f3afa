import { receiptOf } from 'exact-change';
import { expect } from 'vitest';
import { entryV2, envelopeV2 } from '../../fixtures/malformed-402.js';
import { failureOf } from '../../helpers/payer.js';
import { expectUntouched } from '../../helpers/untouched.js';
import { answer } from './front.js';
import { killed } from './killed.js';
import { row } from './row.js';
import { bought, refused } from './told.js';
import { attemptsOf, hasty, SHORT_MS, worldsOfFile } from './world.js';

/** Incomplete terms in the body, as in version 1. */
const HALF = '{"x402Version":1,"accepts":[{"scheme":"exact","network":"solana",';
const JSON_HEADERS = { 'content-type': 'application/json' } as const;

const inHeader = (text: string) =>
  answer(402, '{}', { ...JSON_HEADERS, 'payment-required': Buffer.from(text).toString('base64') });

row(worldsOfFile(), '2', {
  'kill -9': async (world) => {
    const seller = await world.seller((_, response) => {
      response.writeHead(402, JSON_HEADERS);
      response.write(HALF);
    });
    const buyer = await killed(world, 'a', { base: seller.url, at: () => seller.seen.length > 0 });
    expect([await attemptsOf(buyer), await buyer.client.resume()]).toEqual([[], []]);
    await bought(world.buy(buyer, 'a'));
  },
  timeout: async (world) => {
    const buyer = await world.buyer({ USDC: '1' }, hasty('terms'));
    const seller = await world.seller((_, response) => {
      response.writeHead(402, JSON_HEADERS);
      response.write(HALF);
    });
    const error = await refused(buyer, world.buy(buyer, 'a', { base: seller.url }), 'timeout');
    expect(error).toMatchObject({ retry: 'fresh', details: { timeoutMs: SHORT_MS } });
  },
  malformed: async (world) => {
    const buyer = await world.buyer();
    const bad = [
      answer(402, '{"x402Version":1,"accepts":{}}', JSON_HEADERS),
      inHeader('{"x402Version":2,"accepts":'),
      inHeader('[]'),
    ];
    for (const [index, fate] of bad.entries()) {
      const front = await world.front(() => fate);
      const error = await refused(
        buyer,
        world.buy(buyer, `bad${index}`, { base: front.url }),
        'malformed_payment_required',
      );
      expect([error.retry, error.response?.status]).toEqual(['never', 402]);
    }
  },
  'lost response': async (world) => {
    const buyer = await world.buyer();
    const seller = await world.seller((request, response) => {
      response.writeHead(402, JSON_HEADERS);
      response.write(HALF, () => request.socket.destroy());
    });
    await refused(buyer, world.buy(buyer, 'a', { base: seller.url }), 'malformed_payment_required');
  },
  duplicate: async (world) => {
    const buyer = await world.buyer();
    const wrong = envelopeV2([
      entryV2({ payTo: world.sandbox.merchant, extra: { feePayer: buyer.address } }),
    ]);
    const front = await world.front(() => inHeader(JSON.stringify(wrong)));
    const errors = [];
    for (const _ of [1, 2, 3])
      errors.push(
        await refused(buyer, world.buy(buyer, 'a', { base: front.url }), 'unsupported_offer'),
      );
    const verdicts = errors.map((error) => JSON.stringify(error));
    expect(new Set(verdicts).size).toBe(1);
  },
  concurrent: async (world) => {
    const buyer = await world.buyer();
    const bad = await world.front(() => inHeader('{'));
    const free = await world.front(() => answer(402, 'pay by card'));
    const calls = Array.from({ length: 4 }, (_, index) => [
      bought(world.buy(buyer, `good${index}`)),
      failureOf(
        world.buy(buyer, `bad${index}`, { base: bad.url }),
        'malformed_payment_required',
      ).then(expectUntouched),
      world
        .buy(buyer, `free${index}`, { base: free.url })
        .then((response) => expect(receiptOf(response)).toBeUndefined()),
    ]);
    await Promise.all(calls.flat());
  },
});
