import { describe, expect, it } from 'vitest';
import type { Call } from '../../../src/internal/request.js';
import type { PaymentContext } from '../../../src/payments/context.js';
import { createMemory } from '../../../src/payments/memory.js';
import { payAhead } from '../../../src/payments/pay.js';
import {
  forgetStableTerms,
  noteTerms,
  stableTermsOf,
} from '../../../src/payments/plan/stable-terms.js';

const call = (url: string) => ({ url, method: 'GET' }) as Call;

/** A charge by terms that came at a time. */
const charge = (at: number) => {
  const response = new Response(null);
  return { terms: { x402Version: 2 as const, accepts: [] }, unpaid: response, at, paid: response };
};

/** A context that pays nothing ahead, and counts the requests for a blockhash. */
function context(presign: readonly string[] = []) {
  let asked = 0;
  let now = 0;
  const recent = () => {
    asked += 1;
    return Promise.reject(new Error('no node'));
  };
  const made = {
    config: { presign, runtime: { now: () => now } },
    memory: createMemory(),
    blockhashes: { recent },
  } as unknown as PaymentContext;
  return { made, asked: () => asked, setClock: (ms: number) => (now = ms) };
}

describe('payAhead', () => {
  it('asks for a blockhash beside a call only if the origin charged before', async () => {
    const { made, asked } = context();
    expect(await payAhead(made, call('https://a.example/free'), {})).toBeUndefined();
    expect(asked()).toBe(0);
    made.memory.charging.add('https://a.example');
    await payAhead(made, call('https://a.example/other'), {});
    await payAhead(made, call('https://b.example/paid'), {});
    expect(asked()).toBe(1);
  });
});

describe('terms that a payment ahead uses', () => {
  it('hold for five minutes after the latest came, and not if the clock is set back', () => {
    const { made, setClock } = context(['https://a.example']);
    const paid = call('https://a.example/paid');
    const minutes = 60_000;
    setClock(40_000 * minutes);
    for (const minute of [40_001, 40_000, 39_999]) noteTerms(made, paid, charge(minute * minutes));
    const holdAt = (ms: number) => {
      setClock(ms);
      return stableTermsOf(made, paid) !== undefined;
    };
    expect(holdAt(40_005 * minutes - 1)).toBe(true);
    expect(holdAt(40_005 * minutes)).toBe(false);
    expect(holdAt(minutes)).toBe(false);
  });

  it('do not come back by a parallel call that got them before they were forgotten', () => {
    const { made, setClock } = context(['https://a.example']);
    const paid = call('https://a.example/paid');
    setClock(2_000);
    noteTerms(made, paid, charge(1_000));
    forgetStableTerms(made, paid);
    noteTerms(made, paid, charge(1_999));
    expect(stableTermsOf(made, paid)).toBeUndefined();
    noteTerms(made, paid, charge(2_000));
    expect(stableTermsOf(made, paid)).toBeDefined();
  });
});
