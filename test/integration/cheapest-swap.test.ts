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

  /** What a client that notes its questions has quoted exact outputs from. */
  function watching(answered: (from: string | null) => Promise<void> = async () => undefined) {
    const quoted: (string | null)[] = [];
    const watched: typeof fetch = async (input, init) => {
      const { searchParams } = new URL(input instanceof Request ? input.url : input);
      if (searchParams.get('swapMode') === 'ExactOut') {
        quoted.push(searchParams.get('inputMint'));
        await answered(searchParams.get('inputMint'));
      }
      return fetch(input, init);
    };
    return { fetch: watched, quoted };
  }

  it('without more questions, if the first that is pinned costs little', async () => {
    const { fetch: watched, quoted } = watching();
    expect(await swappedFrom({ fetch: watched }, { ...FUNDS, BONK: '1000000' })).toBe('USDT');
    expect([...new Set(quoted)]).toEqual([sandbox.mints.USDT.address]);
  });

  it('from another that is pinned, if the quote for the first does not come', async () => {
    let end = () => undefined;
    const ended = new Promise<void>((resolve) => (end = () => void resolve()));
    const { fetch: watched } = watching(async (from) => {
      if (from === sandbox.mints.USDT.address) await ended;
    });
    expect(await swappedFrom({ fetch: watched })).toBe('PYUSD');
    end();
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
