import { describe, expect, it } from 'vitest';
import { takerUrl } from '../helpers/bounds.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { refusal } from '../helpers/untouched.js';

const HUGE = '18446744073709551615';

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });

const taker = (...asked: Parameters<typeof takerUrl>[1][number][]) => takerUrl(sandbox, asked);

describe('the price of a token that is not a stablecoin', () => {
  it('ignores a huge amount that the seller offers first', async () => {
    const payer = await payerOn(sandbox, { SOL: '150' }, { autoSwap: true });
    const url = await taker(['SOL', HUGE], ['SOL', '100000000000']);
    const { details } = await refusal(sandbox, payer, 'no_payable_offer', () =>
      payer.client.fetch(url),
    );
    expect(details.offers.map(({ code }) => code)).toEqual([
      'amount_over_limit',
      'amount_over_limit',
    ]);
  });

  it('ignores a tiny amount that the wallet paid before', async () => {
    const payer = await payerOn(sandbox, { SOL: '150' }, { autoSwap: true });
    const tiny = await taker(['SOL', '1']);
    expect((await payer.client.fetch(tiny)).status).toBe(200);
    const dear = await taker(['SOL', '10000000']);
    const { details } = await refusal(sandbox, payer, 'amount_over_limit', () =>
      payer.client.fetch(dear),
    );
    expect(details).toMatchObject({ cap: 'maxPerPayment', unit: 'USD' });
  });

  it('does not make the swap bigger than the payment needs', async () => {
    const payer = await payerOn(
      sandbox,
      { SOL: '0.02', USDC: '2000' },
      { autoSwap: true, policy: { maxPerPayment: '5.00' } },
    );
    const url = await taker(['SOL', HUGE], ['SOL', '20000000']);
    expect((await payer.client.fetch(url)).status).toBe(200);
    expect(await sandbox.balance(payer.address, 'USDC')).toBeGreaterThan(1_996_000_000n);
  });

  it('is quoted once a minute, for an amount that the client chooses', async () => {
    const asked: (string | null)[] = [];
    sandbox.controls.aggregator.lie('/swap/v1/quote', (answer, { query }) => {
      asked.push(query.get('amount'));
      return answer;
    });
    const payer = await payerOn(sandbox, { SOL: '5' }, { autoSwap: true });
    const url = await taker(['SOL', '12345']);
    for (let call = 0; call < 3; call++) await payer.client.fetch(`${url}/${call}`);
    expect(asked).toEqual(['1000000000']);
  });

  it('is refused when the quote has an output that is no positive integer', async () => {
    const payer = await payerOn(sandbox, { SOL: '5' });
    const url = await taker(['SOL', '1000']);
    for (const outAmount of ['-1000000000', 'abc', '1e3', '']) {
      sandbox.controls.aggregator.lie('/swap/v1/quote', (answer) => ({ ...answer, outAmount }));
      await refusal(sandbox, payer, 'invalid_response', () => payer.client.fetch(url));
    }
  });

  it('is needed for the dollar caps even when a cap in base units is set', async () => {
    const policy = { maxPerPayment: '1.00', maxPerDay: '1.00', maxAmount: { SOL: '100000000' } };
    const payer = await payerOn(sandbox, { SOL: '5' }, { policy });
    const url = await taker(['SOL', '100000000']);
    await refusal(sandbox, payer, 'amount_over_limit', () => payer.client.fetch(url));
    sandbox.controls.aggregator.fault('*', { kind: 'status', status: 404 });
    const away = payer.again();
    await refusal(sandbox, payer, 'jupiter_unavailable', () => away.fetch(url));
  });

  it('refuses its own offer, and not a USDC offer beside it, when no quote comes', async () => {
    sandbox.controls.aggregator.fault('*', { kind: 'status', status: 418 });
    const payer = await payerOn(sandbox, { SOL: '5', USDC: '1' });
    const url = await taker(['SOL', '1000'], ['USDC', '1000']);
    expect((await payer.client.fetch(url)).status).toBe(200);
    expect((await failureOf(payer.client.fetch(await taker(['SOL', '1000'])))).code).toBe(
      'jupiter_unavailable',
    );
  });
});
