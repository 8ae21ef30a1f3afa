import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { oneSided, takerUrl } from '../helpers/bounds.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { refusal } from '../helpers/untouched.js';

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });

/** Sets the clock past the time for which a pinned token without a price is not asked for again. */
function passFiveSeconds(): void {
  const now = Date.now.bind(Date);
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 5_001);
  onTestFinished(() => clock.mockRestore());
}

const taker = (...asked: Parameters<typeof takerUrl>[1][number][]) => takerUrl(sandbox, asked);

describe('a swap for a payment', () => {
  it.each(['USDC', 'SOL'] as const)(
    'is refused when it takes more %s than its output sells for',
    async (held) => {
      oneSided(sandbox, 'BONK', 400n);
      const payer = await payerOn(
        sandbox,
        { SOL: '5', ...(held === 'USDC' ? { USDC: '500' } : {}) },
        { autoSwap: true, swapFrom: [held] },
      );
      const url = await taker(['BONK', '4500000000']);
      const { details } = await refusal(sandbox, payer, 'swap_overhead_too_high', () =>
        payer.client.fetch(url),
      );
      expect(details.limitBps).toBe(100);
      expect(details.lossBps).toBeGreaterThan(9_900);
      await refusal(sandbox, payer, 'swap_overhead_too_high', () => payer.client.plan(url));
    },
  );

  it('may lose as much as policy.maxSwapLossBps allows', async () => {
    oneSided(sandbox, 'BONK', 2n);
    const funds = { SOL: '0.1', USDC: '5' };
    const url = await taker(['BONK', '4500000000']);
    const careful = await payerOn(sandbox, funds, {
      autoSwap: true,
      policy: { maxSwapLossBps: 4_900 },
    });
    await refusal(sandbox, careful, 'swap_overhead_too_high', () => careful.client.fetch(url));
    const bold = careful.again({
      autoSwap: true,
      policy: { maxSwapLossBps: 5_100, maxPerPayment: '3' },
    });
    expect((await bold.fetch(url)).status).toBe(200);
  });

  it('is made five seconds after a token of the client had no route', async () => {
    const payer = await payerOn(sandbox, { SOL: '1' }, { autoSwap: true });
    const url = `${sandbox.apiUrl}/usdc`;
    const { SOL, USDC } = sandbox.mints;
    sandbox.controls.aggregator.noRoute('*', '*');
    const { details, message } = await failureOf(payer.client.fetch(url), 'no_route');
    expect(details).toEqual({ inputMint: SOL.address, outputMint: USDC.address });
    expect(message).toContain(`from ${SOL.address} to ${USDC.address}`);
    sandbox.controls.aggregator.restoreMarkets();
    passFiveSeconds();
    expect((await payer.client.fetch(url)).status).toBe(200);
  });

  it.each([
    ['the offer', 'SOL', '1000000'],
    ['the input', 'PYUSD', '10000'],
  ] as const)(
    'may be tried again when Jupiter has no price for the SOL of %s',
    async (_, symbol, amount) => {
      sandbox.controls.aggregator.noRoute('SOL', 'USDC');
      sandbox.controls.aggregator.noRoute('SOL', 'USDT');
      const url = await taker([symbol, amount]);
      const payer = await payerOn(sandbox, { SOL: '1' }, { autoSwap: true });
      const { details, retry, message } = await refusal(sandbox, payer, 'price_unknown', () =>
        payer.client.fetch(url),
      );
      expect([details.mint, retry]).toEqual([sandbox.mints.SOL.address, 'fresh']);
      expect(message).toContain('Try again');
      sandbox.controls.aggregator.restoreMarkets();
      passFiveSeconds();
      expect((await payer.client.fetch(url)).status).toBe(200);
    },
  );

  it('needs policy.maxInAmount when its input token has no price', async () => {
    sandbox.controls.aggregator.noRoute('BONK', 'USDC');
    sandbox.controls.aggregator.noRoute('BONK', 'USDT');
    const url = await taker(['PYUSD', '10000']);
    const payer = await payerOn(
      sandbox,
      { SOL: '0.1', BONK: '1000000' },
      { autoSwap: true, swapFrom: ['DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263'] },
    );
    const { details } = await refusal(sandbox, payer, 'price_unknown', () =>
      payer.client.fetch(url),
    );
    expect(details.mint).toBe(sandbox.mints.BONK.address);
    const policy = { maxInAmount: { [sandbox.mints.BONK.address]: '100000000000' } };
    const bounded = payer.again({ autoSwap: true, swapFrom: [sandbox.mints.BONK.address], policy });
    expect((await bounded.fetch(url)).status).toBe(200);
  });

  it('from SOL to USDC asks for one quote, and for one SOL price a minute', async () => {
    const asked: (string | null)[] = [];
    sandbox.controls.aggregator.lie('/swap/v1/quote', (answer, { query }) => {
      asked.push(query.get('swapMode'));
      return answer;
    });
    const payer = await payerOn(sandbox, { SOL: '1' }, { autoSwap: true });
    for (const amount of ['10000', '60000']) {
      const url = await taker(['USDC', amount]);
      expect((await payer.client.fetch(url)).status).toBe(200);
    }
    expect(asked.sort()).toEqual(['ExactIn', 'ExactOut', 'ExactOut']);
  });

  it('is refused when policy.maxFeeLamports is below the fee of one signature', async () => {
    const payer = await payerOn(
      sandbox,
      { SOL: '1' },
      { autoSwap: true, policy: { maxFeeLamports: '4999' } },
    );
    const { details } = await refusal(sandbox, payer, 'fees_over_limit', () =>
      taker(['USDC', '10000']).then((url) => payer.client.fetch(url)),
    );
    expect(details).toEqual({ lamports: '5000', limitLamports: '4999' });
  });
});
