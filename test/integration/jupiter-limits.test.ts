import { local } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { failureOf } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const QUOTE = 'GET /swap/v1/quote';
const quotesAsked = () => sandbox.controls.aggregator.calls(QUOTE);

/** A transport with this key, and a record of the amounts and times of its requests to Jupiter. */
function asking(jupiterApiKey: string, timeoutMs = 10_000) {
  const sent: { amount: string; at: number; heardAt?: number }[] = [];
  const recording: typeof fetch = async (input, init) => {
    const { searchParams } = new URL(input instanceof Request ? input.url : input);
    const request: (typeof sent)[number] = {
      amount: searchParams.get('amount') ?? '',
      at: Date.now(),
    };
    sent.push(request);
    const response = await fetch(input, init);
    request.heardAt = Date.now();
    return response;
  };
  const { rpcUrl, jupiterUrl } = sandbox;
  const transport = local({
    rpcUrl,
    jupiterUrl,
    jupiterApiKey,
    fetch: recording,
    timeouts: { jupiter: timeoutMs },
  });
  const quote = (amount: number) =>
    transport.quote({ inputMint: 'SOL', outputMint: 'USDC', amount: String(amount) });
  return { sent, quote };
}

/** Has a quote refused three times; the last refusal asks for a pause of so many seconds. */
async function turnedAway(first: ReturnType<typeof asking>, seconds: number): Promise<void> {
  const { aggregator } = sandbox.controls;
  aggregator.resetCalls();
  aggregator.fault(QUOTE, {
    kind: 'status',
    status: 429,
    headers: { 'retry-after': '0' },
    times: 2,
  });
  aggregator.fault(QUOTE, {
    kind: 'status',
    status: 429,
    headers: { 'retry-after': String(seconds) },
    times: 1,
  });
  await expect(first.quote(1_000_000)).rejects.toMatchObject({
    code: 'rate_limited',
    details: { retryAfterMs: seconds * 1000 },
  });
  expect(quotesAsked()).toBe(3);
}

describe('a Jupiter address that limits a quote', () => {
  it('gets no quote request during its pause, and then one after the other', async () => {
    const [first, second] = [asking('patient'), asking('patient')];
    await turnedAway(first, 1);
    const amounts = [2_000_000, 2_000_001, 2_000_002, 2_000_003];
    const quotes = await Promise.all(amounts.map((amount) => second.quote(amount)));
    expect(quotes.map(({ inAmount }) => inAmount)).toEqual(amounts.map(String));
    expect(quotesAsked()).toBe(7);
    expect(second.sent.map(({ amount }) => amount)).toEqual(amounts.map(String));
    const over = Number(first.sent.at(-1)?.heardAt) + 1_000;
    expect(second.sent.filter(({ at }) => at < over)).toEqual([]);
  });

  it('fails a call at once with rate_limited if the pause is too long for it', async () => {
    await turnedAway(asking('hasty'), 30);
    const hasty = asking('hasty', 200);
    for (const amount of [3_000_000, 3_000_001]) {
      const error = await failureOf(hasty.quote(amount), 'rate_limited');
      expect(error).toMatchObject({ name: 'TransportError', funds: 'untouched', retry: 'fresh' });
      // The rest of the pause that Jupiter asked for.
      expect(error.details.retryAfterMs).toBeGreaterThan(10_000);
      expect(error.details.retryAfterMs).toBeLessThanOrEqual(30_000);
    }
    expect([hasty.sent, quotesAsked()]).toEqual([[], 3]);
    // Limits count for each key alone.
    expect(await asking('other', 10_000).quote(3_000_002)).toMatchObject({ inAmount: '3000002' });
    expect(quotesAsked()).toBe(4);
  });
});
