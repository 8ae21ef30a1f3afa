import { afterEach, describe, expect, it } from 'vitest';
import { startTaker } from '../helpers/bounds.js';
import { closePayers, failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import type { Seller } from '../helpers/seller.js';
import { refusal } from '../helpers/untouched.js';

const HUGE = '18446744073709551615';

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });
const sellers: Seller[] = [];
afterEach(async () => {
  await closePayers();
  await Promise.all(sellers.splice(0).map((seller) => seller.close()));
});

async function taker(...asked: Parameters<typeof startTaker>[1][number][]): Promise<string> {
  const seller = await startTaker(sandbox, asked);
  sellers.push(seller);
  return seller.url;
}

describe('the price of a token that is no dollar', () => {
  it('is not that of an amount which the seller chose to be huge', async () => {
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

  it('is not that of an amount which the seller chose to be tiny', async () => {
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

  it('is asked for once a minute, and by an amount of our own', async () => {
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

  it('is refused if the answer has amounts that are none', async () => {
    const payer = await payerOn(sandbox, { SOL: '5' });
    const url = await taker(['SOL', '1000']);
    for (const outAmount of ['-1000000000', 'abc', '1e3', '']) {
      sandbox.controls.aggregator.lie('/swap/v1/quote', (answer) => ({ ...answer, outAmount }));
      await refusal(sandbox, payer, 'invalid_response', () => payer.client.fetch(url));
    }
  });

  it('is needed for the dollar caps, also if a cap in base units is set', async () => {
    const policy = { maxPerPayment: '1.00', maxPerDay: '1.00', maxAmount: { SOL: '100000000' } };
    const payer = await payerOn(sandbox, { SOL: '5' }, { policy });
    const url = await taker(['SOL', '100000000']);
    await refusal(sandbox, payer, 'amount_over_limit', () => payer.client.fetch(url));
    sandbox.controls.aggregator.fault('*', { kind: 'status', status: 404 });
    const away = payer.again();
    await refusal(sandbox, payer, 'jupiter_unavailable', () => away.fetch(url));
  });

  it('that cannot be asked for refuses its offer, not one in dollars beside it', async () => {
    sandbox.controls.aggregator.fault('*', { kind: 'status', status: 418 });
    const payer = await payerOn(sandbox, { SOL: '5', USDC: '1' });
    const url = await taker(['SOL', '1000'], ['USDC', '1000']);
    expect((await payer.client.fetch(url)).status).toBe(200);
    expect((await failureOf(payer.client.fetch(await taker(['SOL', '1000'])))).code).toBe(
      'jupiter_unavailable',
    );
  });
});
