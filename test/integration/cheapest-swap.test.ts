import type { ClientOptions } from 'exact-change';
import { receiptOf } from 'exact-change';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemRuntime } from '../../src/internal/runtime.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });
const { aggregator } = sandbox.controls;

const FUNDS = { SOL: '1', USDT: '5', PYUSD: '1' } as const;

/** Fees and rent need all of the SOL, so no swap can use it. */
const HELD = { SOL: '0.008', USDT: '5', BONK: '1000000' } as const;

/** Milliseconds that a client waits for the quotes of other tokens: see `plan/cheapest.ts`. */
const PATIENCE_MS = 500;

// The clients wait for all quotes, which a busy machine may need longer for.
beforeEach(() => {
  const { idle } = systemRuntime;
  vi.spyOn(systemRuntime, 'idle').mockImplementation((ms, signal) =>
    idle(ms === PATIENCE_MS ? 60_000 : ms, signal),
  );
});
afterEach(() => vi.restoreAllMocks());

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
  ) {
    const quoted: (string | null)[] = [];
    const watched: typeof fetch = async (input, init) => {
      const { searchParams } = new URL(input instanceof Request ? input.url : input);
      if (searchParams.get('swapMode') === 'ExactOut') {
        quoted.push(searchParams.get('inputMint'));
        await beforeAnswer(searchParams.get('inputMint'));
      }
      return fetch(input, init);
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
    let end = () => undefined;
    const ended = new Promise<void>((resolve) => (end = () => void resolve()));
    const { fetch: watched } = watching(async (from) => {
      if (from === sandbox.mints.USDT.address) await ended;
    });
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
