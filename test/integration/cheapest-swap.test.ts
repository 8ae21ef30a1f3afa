import type { ClientOptions } from 'exact-change';
import { receiptOf } from 'exact-change';
import { describe, expect, it, vi } from 'vitest';
import { waitForAllQuotes } from '../helpers/all-quotes.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
const { aggregator } = sandbox.controls;

const FUNDS = { SOL: '1', USDT: '5', PYUSD: '1' } as const;

/** Fees and rent need all of the SOL, so no swap can use it. */
const HELD = { SOL: '0.008', USDT: '5', BONK: '1000000' } as const;

waitForAllQuotes();

/** Returns the input token of the swap for a payment in USDC, which the plan must name too. */
async function swappedFrom(
  options: ClientOptions = {},
  funds: Parameters<typeof payerOn>[1] = FUNDS,
) {
  const payer = await payerOn(sandbox, funds, { autoSwap: true, ...options });
  const url = `${sandbox.apiUrl}/usdc`;
  const plan = await payer.client.plan(url);
  const receipt = receiptOf(await payer.client.fetch(url));
  const [planned, used] = [plan.swap?.inputMint, receipt?.swap?.inputMint].map(
    (mint) => Object.values(sandbox.mints).find(({ address }) => address === mint)?.symbol,
  );
  expect(planned).toBe(used);
  return used;
}

describe('a swap for a payment', () => {
  it('takes the stablecoin with the largest balance when all cost about the same', async () => {
    expect(await swappedFrom()).toBe('USDT');
  });

  it('takes the cheaper stablecoin', async () => {
    aggregator.setPriceImpact('USDT', 'USDC', 60);
    aggregator.setPriceImpact('SOL', 'USDC', 60);
    expect(await swappedFrom()).toBe('PYUSD');
  });

  it('takes SOL when each stablecoin costs more', async () => {
    aggregator.setPriceImpact('USDT', 'USDC', 80);
    aggregator.setPriceImpact('PYUSD', 'USDC', 80);
    expect(await swappedFrom()).toBe('SOL');
  });

  it('takes a token that is not pinned when all pinned tokens cost more', async () => {
    aggregator.setPriceImpact('USDT', 'USDC', 80);
    expect(await swappedFrom({}, HELD)).toBe('BONK');
  });

  it('takes a pinned token after a swap from a token that is not pinned failed', async () => {
    aggregator.setPriceImpact('USDT', 'USDC', 80);
    const { client } = await payerOn(sandbox, HELD, { autoSwap: true });
    const url = `${sandbox.apiUrl}/usdc`;
    aggregator.setVenue({ deviationBps: 80 });
    await failureOf(client.fetch(url), 'simulation_failed');
    aggregator.setVenue({});
    const receipt = receiptOf(await client.fetch(url));
    expect(receipt?.swap?.inputMint).toBe(sandbox.mints.USDT.address);
  });

  /** A fetch that notes the input mint of each ExactOut quote, and waits for `beforeAnswer`. */
  function watching(
    beforeAnswer: (inputMint: string | null) => Promise<void> = async () => undefined,
    onAnswer: (inputMint: string | null) => void = () => undefined,
  ) {
    const quoted: (string | null)[] = [];
    const watched: typeof fetch = async (input, init) => {
      const { searchParams } = new URL(input instanceof Request ? input.url : input);
      if (searchParams.get('swapMode') !== 'ExactOut') return fetch(input, init);
      const inputMint = searchParams.get('inputMint');
      quoted.push(inputMint);
      await beforeAnswer(inputMint);
      const answer = await fetch(input, init);
      onAnswer(inputMint);
      return answer;
    };
    return { fetch: watched, quoted };
  }

  it('asks for no second quote when the first pinned token costs little', async () => {
    const { fetch: watched, quoted } = watching();
    expect(await swappedFrom({ fetch: watched }, { ...FUNDS, BONK: '1000000' })).toBe('USDT');
    expect([...new Set(quoted)]).toEqual([sandbox.mints.USDT.address]);
  });

  it('takes the second pinned token when no quote for the first arrives', async () => {
    vi.restoreAllMocks();
    const { USDT, PYUSD, SOL } = sandbox.mints;
    let [end, goOn] = [(): void => undefined, (): void => undefined];
    const ended = new Promise<void>((resolve) => (end = resolve));
    const hasSecond = new Promise<void>((resolve) => (goOn = resolve));
    const { fetch: watched } = watching(
      async (from) => {
        if (from === USDT.address) await ended;
        // On a busy machine the third quote may come long before the second.
        if (from === SOL.address) await hasSecond;
      },
      (from) => (from === PYUSD.address ? goOn() : undefined),
    );
    expect(await swappedFrom({ fetch: watched })).toBe('PYUSD');
    end();
  });

  it('takes the only token with a route, at any cost', async () => {
    aggregator.setPriceImpact('USDT', 'USDC', 80);
    aggregator.noRoute('SOL', 'USDC');
    aggregator.untradable('PYUSD');
    expect(await swappedFrom()).toBe('USDT');
  });

  it("follows the caller's order of swapFrom, at any cost", async () => {
    aggregator.setPriceImpact('USDT', 'USDC', 80);
    expect(await swappedFrom({ swapFrom: ['USDT', 'SOL'] })).toBe('USDT');
  });
});
