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

/** Returns the idempotency keys that reach the transport, for pairs of caller and request key. */
async function keysOf(
  ...pairs: readonly (readonly [caller: string, key: string])[]
): Promise<unknown[]> {
  const { post, asked } = serving({ callerOf });
  for (const [caller, idempotencyKey] of pairs) {
    const { status } = await post(
      PATH,
      { paymentRequired, wallet: WALLET, idempotencyKey },
      { 'x-api-key': caller },
    );
    expect(status).toBe(200);
  }
  // The cast holds, because every request calls autoPay.
  return asked.map(([, input]) => (input as AutoPayRequest).idempotencyKey);
}

describe('an idempotency key', () => {
  it('maps to one hash per caller, the same for each request', async () => {
    const [first, again, ofOther] = await keysOf(['a', 'order'], ['a', 'order'], ['b', 'order']);
    expect(first).toEqual(again);
    expect(first).not.toEqual(ofOther);
    expect(first).toMatch(/^[0-9a-f]{64}$/);
  });

  it('maps to different hashes when caller and key join to the same text', async () => {
    const pairs = [
      ['a', 'b,c'],
      ['a,b', 'c'],
      ['a","b', 'c'],
      ['a', 'b","c'],
    ] as const;
    expect(new Set(await keysOf(...pairs)).size).toBe(pairs.length);
  });

  it('passes unchanged without callerOf, and is refused from an unknown caller', async () => {
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
