import type { ClientOptions } from 'exact-change';
import { receiptOf } from 'exact-change';
import { describe, expect, it } from 'vitest';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });
const { aggregator } = sandbox.controls;

const FUNDS = { SOL: '1', USDT: '5', PYUSD: '1' } as const;

/** All of the SOL is kept for fees and rent. */
const HELD = { SOL: '0.008', USDT: '5', BONK: '1000000' } as const;

/** The token that a payment in USDC is made from, and the plan's before it. */
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

describe('a swap for a payment is made', () => {
  it('from the stablecoin that there is most of, if all cost about the same', async () => {
    expect(await swappedFrom()).toBe('USDT');
  });

  it('from the stablecoin that costs less', async () => {
    aggregator.setPriceImpact('USDT', 'USDC', 60);
    aggregator.setPriceImpact('SOL', 'USDC', 60);
    expect(await swappedFrom()).toBe('PYUSD');
  });

  it('from SOL, if each stablecoin costs more than that', async () => {
    aggregator.setPriceImpact('USDT', 'USDC', 80);
    aggregator.setPriceImpact('PYUSD', 'USDC', 80);
    expect(await swappedFrom()).toBe('SOL');
  });

  it('from a token that is not pinned, if all that are pinned cost more than that', async () => {
    aggregator.setPriceImpact('USDT', 'USDC', 80);
    expect(await swappedFrom({}, HELD)).toBe('BONK');
  });

  it('from a token that is not pinned no more for a while, once a swap out of it came to nothing', async () => {
    aggregator.setPriceImpact('USDT', 'USDC', 80);
    const { client } = await payerOn(sandbox, HELD, { autoSwap: true });
    const url = `${sandbox.apiUrl}/usdc`;
    aggregator.setVenue({ deviationBps: 80 });
    await failureOf(client.fetch(url), 'simulation_failed');
    aggregator.setVenue({});
    const receipt = receiptOf(await client.fetch(url));
    expect(receipt?.swap?.inputMint).toBe(sandbox.mints.USDT.address);
  });

  it('without more questions, if what is pinned costs little', async () => {
    const asked: string[] = [];
    const watched: typeof fetch = (input, init) => {
      asked.push(input instanceof Request ? input.url : String(input));
      return fetch(input, init);
    };
    expect(await swappedFrom({ fetch: watched }, HELD)).toBe('USDT');
    expect(asked.filter((url) => url.includes('inputMint')).length).toBeGreaterThan(0);
    expect(asked.filter((url) => url.includes(sandbox.mints.BONK.address))).toEqual([]);
  });

  it('from what has a route, whatever it costs', async () => {
    aggregator.setPriceImpact('USDT', 'USDC', 80);
    aggregator.noRoute('SOL', 'USDC');
    aggregator.untradable('PYUSD');
    expect(await swappedFrom()).toBe('USDT');
  });

  it('in the order that the caller gave, whatever it costs', async () => {
    aggregator.setPriceImpact('USDT', 'USDC', 80);
    expect(await swappedFrom({ swapFrom: ['USDT', 'SOL'] })).toBe('USDT');
  });
});
