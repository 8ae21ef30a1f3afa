import { memoryJournal } from 'exact-change';
import { agentTools, type ToolOptions } from 'exact-change/ai';
import { describe, expect, it } from 'vitest';
import { MODE } from '../../adapters/sandbox/venue/venue.mjs';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
const dollars = async (client: Awaited<ReturnType<typeof payerOn>>['client']) =>
  (await client.spent()).find(({ cap }) => cap === 'maxPerDay')?.used;

describe('client.swap with counted: true', () => {
  it('counts its loss against the caps, not its input', async () => {
    const { client } = await payerOn(sandbox, { SOL: '1', USDC: '1' });
    const request = { inputMint: 'SOL', outputMint: 'USDC', uiAmount: '0.1' };
    await client.swap(request);
    expect(await dollars(client)).toBe('0');
    const { outAmount } = await client.swap(request, { counted: true });
    // 0.1 SOL are 15 dollars. Prices are within a percent, and the higher price counts.
    const used = Number(await dollars(client));
    expect(used).toBeGreaterThan(15 - Number(outAmount) / 1e6);
    expect(used).toBeLessThan(0.3);
    expect(await client.resume()).toEqual([]);
  });

  it('is refused before it is signed when a cap has no room', async () => {
    const { client, signed } = await payerOn(
      sandbox,
      { SOL: '1', USDC: '1' },
      { policy: { limits: [{ swaps: 1, per: 'day' }], maxPerPayment: '0.30' } },
    );
    // A swap into a token that is not pinned counts its whole input.
    const bonk = { inputMint: 'SOL', outputMint: sandbox.mints.BONK.address, uiAmount: '0.01' };
    await failureOf(client.swap(bonk, { counted: true }), 'amount_over_limit');
    expect(signed).toEqual([]);
    const usdc = { inputMint: 'SOL', outputMint: 'USDC', uiAmount: '0.001' };
    await client.swap(usdc, { counted: true });
    await failureOf(client.swap(usdc, { counted: true }), 'budget_exhausted');
    expect(signed).toHaveLength(1);
  });

  it('has no host and no payee, so caps for each of them do not bind it', async () => {
    const { client } = await payerOn(
      sandbox,
      { SOL: '1', USDC: '1' },
      {
        policy: {
          limits: [
            { swaps: 1, per: 'hour', host: '*' },
            { usd: '0', per: 'hour', payee: '*' },
          ],
        },
      },
    );
    const request = { inputMint: 'SOL', outputMint: 'USDC', uiAmount: '0.001' };
    await client.swap(request, { counted: true });
    await client.swap(request, { counted: true });
    const caps = await client.spent();
    expect(caps.map(({ cap }) => cap)).toEqual(['maxPerDay', 'maxLamportsPerDay']);
  });

  it('counts nothing when it fails before its signature', async () => {
    const journal = memoryJournal();
    const { client } = await payerOn(sandbox, { SOL: '1', USDC: '1' }, { journal });
    sandbox.controls.aggregator.setVenue({ modes: [MODE.underpay], amount: 300_000n });
    const request = { inputMint: 'SOL', outputMint: 'USDC', uiAmount: '0.01' };
    await failureOf(client.swap(request, { counted: true }));
    expect(await dollars(client)).toBe('0');
  });
});

describe('client.swap with noWorseThan', () => {
  const { picoUsd } = sandbox.mints.SOL;
  const orders = [
    { inputMint: 'SOL', outputMint: 'USDC', uiAmount: '0.1' },
    { inputMint: 'SOL', outputMint: 'USDC', uiAmount: '15', swapMode: 'ExactOut' },
  ] as const;
  /** Returns the SOL price after it fell by so many basis points. */
  const after = (bps: bigint) => (picoUsd * (10_000n - bps)) / 10_000n;

  it.each(orders)(
    'swaps within the bounds of the quote when the price moves a little ($uiAmount)',
    async (order) => {
      const { client, address } = await payerOn(sandbox, { SOL: '1', USDC: '0' });
      const approved = await client.quote(order);
      sandbox.controls.aggregator.setPrice('SOL', after(20n));
      const { inAmount } = await client.swap(order, { noWorseThan: approved });
      expect(BigInt(inAmount)).toBeLessThanOrEqual(BigInt(approved.maxInAmount));
      const got = await sandbox.balance(address, 'USDC');
      expect(got).toBeGreaterThanOrEqual(BigInt(approved.minOutAmount));
    },
  );

  it.each(orders)(
    'signs nothing when the price moves past the quote ($uiAmount)',
    async (order) => {
      const { client, signed } = await payerOn(sandbox, { SOL: '1', USDC: '0' });
      const approved = await client.quote(order);
      sandbox.controls.aggregator.setPrice('SOL', after(60n));
      const error = await failureOf(
        client.swap(order, { noWorseThan: approved, counted: true }),
        'approval_refused',
      );
      expect(error).toMatchObject({ funds: 'untouched', details: { reason: 'changed' } });
      expect(signed).toEqual([]);
    },
  );

  it('fails when the venue pays less than the quote after the last price check', async () => {
    const [order] = orders;
    const { client, address } = await payerOn(sandbox, { SOL: '1', USDC: '0' });
    const approved = await client.quote(order);
    sandbox.controls.aggregator.setPrice('SOL', after(30n));
    sandbox.controls.aggregator.setVenue({ deviationBps: -40 });
    await failureOf(client.swap(order, { noWorseThan: approved }));
    expect(await sandbox.balance(address, 'USDC')).toBe(0n);
    // Without noWorseThan the same price is within the slippage of a new quote.
    await client.swap(order);
    expect(await sandbox.balance(address, 'USDC')).toBeLessThan(BigInt(approved.minOutAmount));
  });

  it('refuses a bound that is no amount', async () => {
    const { client } = await payerOn(sandbox, { SOL: '1' });
    const noWorseThan = { maxInAmount: 'all', minOutAmount: '0' };
    await failureOf(client.swap(orders[0], { noWorseThan }), 'invalid_option');
  });
});

describe('the swap tool', () => {
  it('swaps within the approved bounds, or is refused', async () => {
    const { client, signed, address } = await payerOn(sandbox, { SOL: '1', USDC: '0' });
    const { picoUsd } = sandbox.mints.SOL;
    let least = '';
    const swapAfter = async (move: bigint) => {
      const approveSwap: ToolOptions['approveSwap'] = ({ minOutAmount }) => {
        least = minOutAmount;
        sandbox.controls.aggregator.setPrice('SOL', picoUsd - (picoUsd * move) / 10_000n);
        return true;
      };
      const tool = agentTools(client, { approveSwap }).find(({ name }) => name === 'swap');
      sandbox.controls.aggregator.setPrice('SOL', picoUsd);
      return tool?.run({ input: 'SOL', output: 'USDC', amount: '0.1' });
    };
    expect(await swapAfter(100n)).toMatchObject({
      ok: false,
      funds: 'untouched',
      error: { code: 'approval_refused' },
    });
    expect(signed).toEqual([]);
    expect(await swapAfter(20n)).toMatchObject({ ok: true, funds: 'swapped' });
    expect(await sandbox.balance(address, 'USDC')).toBeGreaterThanOrEqual(BigInt(least));
  });
});
