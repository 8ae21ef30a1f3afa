import { describe, expect, it } from 'vitest';
import type { Call } from '../../../src/internal/request.js';
import type { PaymentContext } from '../../../src/payments/context.js';
import { createMemory } from '../../../src/payments/memory.js';
import { payAhead } from '../../../src/payments/pay.js';
import { noteCharge } from '../../../src/payments/plan/stable-terms.js';

const call = (url: string) => ({ url, method: 'GET' }) as Call;

/** A context that pays nothing ahead, and counts how often its blockhash is asked for. */
function context() {
  let asked = 0;
  const recent = () => {
    asked += 1;
    return Promise.reject(new Error('no node'));
  };
  const made = {
    config: { presign: [], runtime: { now: () => 0 } },
    memory: createMemory(),
    blockhashes: { recent },
  } as unknown as PaymentContext;
  return { made, asked: () => asked };
}

describe('payAhead', () => {
  it('asks for a blockhash beside a call to an origin that charged before, and for no other', async () => {
    const { made, asked } = context();
    expect(await payAhead(made, call('https://a.example/free'), {})).toBeUndefined();
    expect(asked()).toBe(0);
    const response = new Response(null);
    noteCharge(
      made,
      call('https://a.example/paid'),
      { x402Version: 2, accepts: [] },
      response,
      response,
    );
    await payAhead(made, call('https://a.example/other'), {});
    await payAhead(made, call('https://b.example/paid'), {});
    expect(asked()).toBe(1);
  });
});
