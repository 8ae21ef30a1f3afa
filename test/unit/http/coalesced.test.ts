import {
  FundsError,
  TransportError,
  type SwapQuote,
  type TokenBalance,
  type Transport,
  type TransportOptions,
} from 'exact-change';
import { createHandler, type HandlerOptions } from 'exact-change/http';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { withSharedReads } from '../../../adapters/http/coalesced.js';
import { balanceOfUsdc, quote, USDC, WALLET } from '../wire/samples.js';
import { fakeTransport, serving } from './fake.js';

const REQUEST = { inputMint: 'SOL', outputMint: 'USDC', amount: '5' };
const limited = (retryAfterMs: number) =>
  new TransportError('rate_limited', 'Wait.', { details: { retryAfterMs } });

interface UpstreamCall {
  readonly request: unknown;
  readonly signal: AbortSignal | undefined;
  answer(value: SwapQuote): void;
  fail(error: unknown): void;
}

/** Makes a transport that the test answers by hand, over a clock that the test sets. */
function sharing({ quoteMs = 1_000, balanceMs = 400 } = {}, over: Partial<Transport> = {}) {
  const upstreamCalls: UpstreamCall[] = [];
  const clock = { ms: 1_000_000 };
  const { transport } = fakeTransport({
    quote: (request, options) =>
      new Promise(
        (resolve, reject) =>
          void upstreamCalls.push({
            request,
            signal: options?.signal,
            answer: resolve,
            fail: reject,
          }),
      ),
    ...over,
  });
  const shared = withSharedReads(transport, { quoteMs, balanceMs }, () => clock.ms);
  const call = (
    request: Parameters<Transport['quote']>[0] = REQUEST,
    options?: TransportOptions,
  ) => {
    const answer = shared.quote(request, options);
    answer.catch(() => undefined);
    return answer;
  };
  return { upstreamCalls, clock, shared, call };
}

/** Lets all promises that can settle do so. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

async function upstream(
  upstreamCalls: readonly UpstreamCall[],
  index: number,
): Promise<UpstreamCall> {
  await settle();
  return upstreamCalls[index] ?? expect.fail('The transport got no such call.');
}

describe('equal calls', () => {
  it('share one upstream request and one answer when made together', async () => {
    const { upstreamCalls, call } = sharing();
    const answers = Promise.all([
      call(),
      call({ ...REQUEST, swapMode: 'ExactIn' }),
      call({ ...REQUEST, amount: 5n }),
    ]);
    (await upstream(upstreamCalls, 0)).answer(quote);
    expect(await answers).toEqual([quote, quote, quote]);
    expect(upstreamCalls.map(({ request }) => request)).toEqual([REQUEST]);
  });

  it('are separate requests when any parameter differs', async () => {
    const { upstreamCalls, call } = sharing();
    for (const change of [
      { amount: '6' },
      { swapMode: 'ExactOut' as const },
      { slippageBps: 1 },
      { maxAccounts: 1 },
      { inputMint: 'USDC', outputMint: 'SOL' },
      {},
    ]) {
      void call({ ...REQUEST, ...change });
    }
    await settle();
    expect(upstreamCalls).toHaveLength(6);
  });

  it('reuse an answer until its age, counted from the request, reaches the limit', async () => {
    const { upstreamCalls, clock, call } = sharing();
    const first = call();
    clock.ms += 300;
    (await upstream(upstreamCalls, 0)).answer(quote);
    await first;
    clock.ms += 699;
    expect(await call()).toEqual(quote);
    expect(upstreamCalls).toHaveLength(1);
    clock.ms += 1;
    const later = call();
    (await upstream(upstreamCalls, 1)).answer({ ...quote, quotedAt: clock.ms });
    expect((await later).quotedAt).toBe(clock.ms);
  });

  it('go upstream again when the first answer took longer than the limit', async () => {
    const { upstreamCalls, clock, call } = sharing();
    const first = call();
    clock.ms += 1_000;
    (await upstream(upstreamCalls, 0)).answer(quote);
    await first;
    void call();
    await upstream(upstreamCalls, 1);
  });

  it('do not join a request that hangs, which still answers its own callers', async () => {
    const { upstreamCalls, clock, call } = sharing();
    const first = call();
    await upstream(upstreamCalls, 0);
    clock.ms += 5_000;
    const second = call();
    (await upstream(upstreamCalls, 1)).answer({ ...quote, inAmount: '2' });
    expect((await second).inAmount).toBe('2');
    (await upstream(upstreamCalls, 0)).answer(quote);
    expect(await first).toEqual(quote);
    expect((await call()).inAmount).toBe('2');
  });

  it('go upstream again when the clock was set back', async () => {
    const { upstreamCalls, clock, call } = sharing();
    const first = call();
    (await upstream(upstreamCalls, 0)).answer(quote);
    await first;
    clock.ms -= 60_000;
    void call();
    await upstream(upstreamCalls, 1);
  });

  it('each go upstream when the limit is 0', async () => {
    const { upstreamCalls, call } = sharing({ quoteMs: 0 });
    void call();
    void call();
    await settle();
    expect(upstreamCalls).toHaveLength(2);
  });

  it('share a balance only for the same wallet and the same mints in the same order', async () => {
    const seen: unknown[] = [];
    const balance = async (request: unknown): Promise<TokenBalance[]> => (
      seen.push(request),
      [balanceOfUsdc]
    );
    const { shared, clock } = sharing({}, { balance });
    const requests = [
      {},
      { mint: [] },
      { mint: ['SOL', 'USDC'] },
      { mint: ['USDC', 'SOL'] },
      { mint: ['USDC'] },
    ];
    for (const request of [...requests, ...requests, { mint: 'USDC' }])
      await shared.balance({ wallet: WALLET, ...request });
    expect(seen).toEqual(requests.map((request) => ({ wallet: WALLET, ...request })));
    clock.ms += 399;
    await shared.balance({ wallet: WALLET, mint: 'USDC' });
    expect(seen).toHaveLength(5);
    clock.ms += 1;
    await shared.balance({ wallet: WALLET, mint: 'USDC' });
    await shared.balance({ wallet: USDC, mint: 'USDC' });
    expect(seen).toHaveLength(7);
  });
});

describe('a caller that gives up', () => {
  it('rejects at once, and does not stop the request for the other callers', async () => {
    const { upstreamCalls, call } = sharing();
    const [hasty, patient] = [new AbortController(), new AbortController()];
    const [aborted, kept] = [
      call(REQUEST, { signal: hasty.signal }),
      call(REQUEST, { signal: patient.signal }),
    ];
    const request = await upstream(upstreamCalls, 0);
    hasty.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    expect(request.signal?.aborted).toBe(false);
    request.answer(quote);
    expect(await kept).toEqual(quote);
  });

  it('stops the request when it is the last caller; a later caller starts a new one', async () => {
    const { upstreamCalls, call } = sharing();
    const callers = [new AbortController(), new AbortController()];
    const calls = callers.map(({ signal }) => call(REQUEST, { signal }));
    const stopped = await upstream(upstreamCalls, 0);
    callers[0]!.abort(new Error('first'));
    await expect(calls[0]).rejects.toThrow('first');
    const reason = new Error('last');
    callers[1]!.abort(reason);
    await expect(calls[1]).rejects.toBe(reason);
    expect(stopped.signal?.reason).toBe(reason);
    const again = call();
    const second = await upstream(upstreamCalls, 1);
    // A stopped request may still answer; callers that came later must not get its answer.
    stopped.answer({ ...quote, inAmount: '1' });
    second.answer(quote);
    expect(await again).toEqual(quote);
    expect(await call()).toEqual(quote);
  });

  it('starts no request when its signal is already aborted', async () => {
    const { upstreamCalls, call } = sharing();
    const reason = new Error('too late');
    await expect(call(REQUEST, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await settle();
    expect(upstreamCalls).toEqual([]);
  });
});

describe('an upstream failure', () => {
  it('rejects all waiting callers, and no later caller', async () => {
    const { upstreamCalls, call } = sharing();
    const failure = new FundsError('unknown_mint', 'There is no such mint.', {
      details: { mint: USDC },
    });
    const calls = [call(), call()];
    (await upstream(upstreamCalls, 0)).fail(failure);
    for (const waiting of calls) await expect(waiting).rejects.toBe(failure);
    const again = call();
    (await upstream(upstreamCalls, 1)).answer(quote);
    expect(await again).toEqual(quote);
  });

  it('by a rate limit rejects all new quotes with the remaining wait until it ends', async () => {
    const { upstreamCalls, clock, call } = sharing();
    const known = call({ ...REQUEST, amount: '7' });
    (await upstream(upstreamCalls, 0)).answer(quote);
    await known;
    const refused = call();
    const failure = limited(4_000);
    (await upstream(upstreamCalls, 1)).fail(failure);
    await expect(refused).rejects.toBe(failure);
    expect(await call({ ...REQUEST, amount: '7' })).toEqual(quote);
    clock.ms += 1_500;
    for (const request of [REQUEST, { ...REQUEST, amount: '6' }]) {
      await expect(call(request)).rejects.toMatchObject({
        code: 'rate_limited',
        funds: 'untouched',
        details: { retryAfterMs: 2_500 },
      });
    }
    expect(upstreamCalls).toHaveLength(2);
    clock.ms += 2_500;
    const after = call();
    (await upstream(upstreamCalls, 2)).answer(quote);
    expect(await after).toEqual(quote);
  });

  it('by a rate limit is not shortened by a later, shorter limit', async () => {
    const { upstreamCalls, clock, call } = sharing();
    for (const amount of ['6', '7']) void call({ ...REQUEST, amount });
    (await upstream(upstreamCalls, 0)).fail(limited(20_000));
    await settle();
    (await upstream(upstreamCalls, 1)).fail(limited(1_000));
    await settle();
    clock.ms += 1_500;
    await expect(call()).rejects.toMatchObject({
      code: 'rate_limited',
      details: { retryAfterMs: 18_500 },
    });
  });

  it('by a rate limit ends after a minute at most, or when the clock is set back', async () => {
    for (const shift of [60_000, -1]) {
      const { upstreamCalls, clock, call } = sharing();
      void call();
      (await upstream(upstreamCalls, 0)).fail(limited(1e15));
      await settle();
      clock.ms += 59_999;
      await expect(call()).rejects.toMatchObject({ details: { retryAfterMs: 1 } });
      clock.ms += shift === -1 ? -60_000 : 1;
      void call();
      await upstream(upstreamCalls, 1);
    }
  });

  it('by a rate limit of quotes does not affect balances', async () => {
    const { upstreamCalls, shared, call } = sharing();
    void call();
    (await upstream(upstreamCalls, 0)).fail(limited(4_000));
    await settle();
    expect(await shared.balance({ wallet: WALLET })).toEqual([balanceOfUsdc]);
  });
});

describe('a shared answer', () => {
  it('is frozen for its callers, and independent of the object of the transport', async () => {
    const original = {
      ...quote,
      route: ['Whirlpool'],
      raw: { routePlan: [{ percent: 100, ['__proto__']: { a: [1] } }] },
    };
    const { upstreamCalls, call, shared } = sharing();
    const [first, second] = [call(), call()];
    (await upstream(upstreamCalls, 0)).answer(original);
    const received: { inAmount: string; route: readonly string[]; raw: unknown } = await first;
    expect(() => (received.inAmount = '0')).toThrow(TypeError);
    expect(() => (received.route as string[]).push('mine')).toThrow(TypeError);
    expect(() => ((received.raw as typeof original.raw).routePlan[0]!.percent = 0)).toThrow(
      TypeError,
    );
    const balances = await shared.balance({ wallet: WALLET, mint: 'USDC' });
    balances.pop();
    const [balance] = await shared.balance({ wallet: WALLET, mint: 'USDC' });
    expect(() => Object.assign(balance!, { amount: '0' })).toThrow(TypeError);
    // The transport may keep changing its own object.
    original.raw.routePlan[0]!.percent = 1;
    original.route.push('its');
    expect(await second).toEqual({
      ...quote,
      raw: { routePlan: [{ percent: 100, ['__proto__']: { a: [1] } }] },
    });
    expect(balanceOfUsdc.amount).toBe('2500000');
  });

  it('is dropped, the oldest first, when more than a thousand are kept', async () => {
    let calls = 0;
    const { shared } = sharing(
      {},
      { quote: async (request) => ((calls += 1), { ...quote, inAmount: String(request.amount) }) },
    );
    for (let amount = 1; amount <= 1_001; amount += 1)
      await shared.quote({ ...REQUEST, amount: String(amount) });
    expect(calls).toBe(1_001);
    expect((await shared.quote({ ...REQUEST, amount: '1001' })).inAmount).toBe('1001');
    expect((await shared.quote({ ...REQUEST, amount: '2' })).inAmount).toBe('2');
    expect(calls).toBe(1_001);
    await shared.quote({ ...REQUEST, amount: '1' });
    expect(calls).toBe(1_002);
  });

  it('is fresh and belongs to its request, for any order of requests and failures', async () => {
    const step = fc.record({
      wait: fc.integer({ min: 0, max: 700 }),
      amount: fc.constantFrom('1', '2', '3'),
      fails: fc.nat(9),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const clock = { ms: 5_000 };
        let fails = false;
        let calls = 0;
        const { transport } = fakeTransport({
          quote: async ({ amount }) => {
            calls += 1;
            if (fails) throw new Error('no');
            return { ...quote, inAmount: String(amount), quotedAt: clock.ms };
          },
        });
        const shared = withSharedReads(
          transport,
          { quoteMs: 1_000, balanceMs: 400 },
          () => clock.ms,
        );
        const begun = clock.ms;
        for (const { wait, amount, fails: failing } of steps) {
          clock.ms += wait;
          fails = failing === 0;
          const answer = await shared.quote({ ...REQUEST, amount }).catch(() => undefined);
          if (answer === undefined) continue;
          expect(answer.inAmount).toBe(amount);
          expect(clock.ms - answer.quotedAt).toBeLessThan(1_000);
        }
        const failures = steps.filter(({ fails: failing }) => failing === 0).length;
        expect(calls).toBeLessThanOrEqual(
          3 * (Math.floor((clock.ms - begun) / 1_000) + 1) + failures,
        );
      }),
      { numRuns: 200 },
    );
  });
});

describe('the handler', () => {
  // By default a balance is shared for 400 ms, which a busy machine may need for a call.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
  afterEach(() => void vi.useRealTimers());
  const QUOTE = `/api/quote?inputMint=SOL&outputMint=USDC&amount=5`;

  it('shares quotes and balances by default, and never builds or steps of a payment', async () => {
    const { call, post, asked } = serving();
    const step = { paymentRequired: {}, wallet: WALLET };
    for (let times = 0; times < 2; times += 1) {
      await Promise.all([call(QUOTE), call(QUOTE), call(`/api/balance?wallet=${WALLET}`)]);
      await post('/api/swap/build', { wallet: WALLET, quote });
      await post('/api/x402/auto-pay', step);
    }
    expect(asked.map(([name]) => name).sort()).toEqual([
      'autoPay',
      'autoPay',
      'balance',
      'buildSwap',
      'buildSwap',
      'quote',
    ]);
  });

  it.each([
    ['quotes', { quoteCacheMs: 0 }, ['balance', 'quote', 'quote']],
    ['balances', { balanceCacheMs: 0 }, ['balance', 'balance', 'quote']],
  ])('shares no %s when their cache time is 0', async (_, options, expected) => {
    const { call, asked } = serving(options);
    for (let times = 0; times < 2; times += 1)
      await Promise.all([call(QUOTE), call(`/api/balance?wallet=${WALLET}`)]);
    expect(asked.map(([name]) => name).sort()).toEqual(expected);
  });

  it('answers 499 to an aborted request and 200 to the request that shares its quote', async () => {
    let answer = (_: SwapQuote): void => undefined;
    const pending = new Promise<SwapQuote>((resolve) => (answer = resolve));
    const { call } = serving({}, { quote: () => pending });
    const caller = new AbortController();
    const [aborted, kept] = [call(QUOTE, { signal: caller.signal }), call(QUOTE)];
    await settle();
    caller.abort();
    expect((await aborted).status).toBe(499);
    answer(quote);
    expect([(await kept).status, (await kept).json]).toEqual([200, quote]);
  });

  it('passes the wait of an upstream rate limit to every caller', async () => {
    let calls = 0;
    const { call } = serving({}, { quote: () => ((calls += 1), Promise.reject(limited(30_000))) });
    const answers = [await call(QUOTE), await call(QUOTE), await call(`${QUOTE}0`)];
    expect(answers.map(({ status, json }) => [status, json['code']])).toEqual(
      answers.map(() => [429, 'rate_limited']),
    );
    for (const { headers } of answers)
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(20);
    expect(calls).toBe(1);
  });

  it.each<[string, HandlerOptions]>([
    ['quoteCacheMs', { quoteCacheMs: -1 }],
    ['quoteCacheMs', { quoteCacheMs: 5_001 }],
    ['balanceCacheMs', { balanceCacheMs: 0.5 }],
    ['balanceCacheMs', { balanceCacheMs: Number.NaN }],
  ])('refuses the option %s out of range: %j', (option, options) => {
    expect(() => createHandler(fakeTransport().transport, options)).toThrow(
      expect.objectContaining({ code: 'invalid_option', details: { option } }),
    );
  });
});
