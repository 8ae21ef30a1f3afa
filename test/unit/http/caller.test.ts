import { describe, expect, it } from 'vitest';
import type { AutoPayRequest } from 'exact-change';
import { WALLET } from '../wire/samples.js';
import { serving } from './fake.js';

const PATH = '/api/x402/auto-pay';
const paymentRequired = { url: 'https://api.example.com/', status: 402, headers: {}, body: {} };
const callerOf = ({ headers }: Request) => {
  const id = headers.get('x-api-key');
  return id === null ? undefined : { id };
};

/** The key that the transport was asked with, by caller and key of the request. */
async function keysOf(
  ...asked: readonly (readonly [caller: string, key: string])[]
): Promise<unknown[]> {
  const { post, asked: heard } = serving({ callerOf });
  for (const [caller, idempotencyKey] of asked) {
    const { status } = await post(
      PATH,
      { paymentRequired, wallet: WALLET, idempotencyKey },
      { 'x-api-key': caller },
    );
    expect(status).toBe(200);
  }
  // All were of auto-pay.
  return heard.map(([, input]) => (input as AutoPayRequest).idempotencyKey);
}

describe('an idempotency key', () => {
  it('is its caller’s own, and the same each time', async () => {
    const [first, again, others] = await keysOf(['a', 'order'], ['a', 'order'], ['b', 'order']);
    expect(first).toEqual(again);
    expect(first).not.toEqual(others);
    expect(first).toMatch(/^[0-9a-f]{64}$/);
  });

  it('is another for each caller and key, whatever they are made of', async () => {
    const asked = [
      ['a', 'b,c'],
      ['a,b', 'c'],
      ['a","b', 'c'],
      ['a', 'b","c'],
    ] as const;
    expect(new Set(await keysOf(...asked)).size).toBe(asked.length);
  });

  it('is passed on as it is if callers are not told apart, and refused of a caller that is not known', async () => {
    const { post, asked } = serving();
    await post(PATH, { paymentRequired, wallet: WALLET, idempotencyKey: 'order' });
    expect(asked).toMatchObject([['autoPay', { idempotencyKey: 'order' }]]);
    const strict = serving({ callerOf });
    expect(
      (await strict.post(PATH, { paymentRequired, wallet: WALLET, idempotencyKey: 'order' }))
        .status,
    ).toBe(401);
    expect((await strict.post(PATH, { paymentRequired, wallet: WALLET })).status).toBe(200);
  });
});
