import { memoryJournal } from 'exact-change';
import { agentTools, type ToolOptions } from 'exact-change/ai';
import { describe, expect, it } from 'vitest';
import { MODE } from '../../adapters/sandbox/venue/venue.mjs';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });
const dollars = async (client: Awaited<ReturnType<typeof payerOn>>['client']) =>
  (await client.spent()).find(({ cap }) => cap === 'maxPerDay')?.used;

describe('a counted swap', () => {
  it('takes of the caps what it loses, as a swap for a payment does, and not its input', async () => {
    const { client } = await payerOn(sandbox, { SOL: '1', USDC: '1' });
    const request = { inputMint: 'SOL', outputMint: 'USDC', uiAmount: '0.1' };
    await client.swap(request);
    expect(await dollars(client)).toBe('0');
    const { outAmount } = await client.swap(request, { counted: true });
    // 0.1 SOL are 15 dollars. Prices are within a percent, and the dearer one counts.
    const used = Number(await dollars(client));
    expect(used).toBeGreaterThan(15 - Number(outAmount) / 1e6);
    expect(used).toBeLessThan(0.3);
    expect(await client.resume()).toEqual([]);
  });

  it('is refused before it is signed if no cap has room', async () => {
    const { client, signed } = await payerOn(
      sandbox,
      { SOL: '1', USDC: '1' },
      { policy: { limits: [{ swaps: 1, per: 'day' }], maxPerPayment: '0.30' } },
    );
    // Into a token that is not pinned, all of it counts.
    const bonk = { inputMint: 'SOL', outputMint: sandbox.mints.BONK.address, uiAmount: '0.01' };
    await failureOf(client.swap(bonk, { counted: true }), 'amount_over_limit');
    expect(signed).toEqual([]);
    const usdc = { inputMint: 'SOL', outputMint: 'USDC', uiAmount: '0.001' };
    await client.swap(usdc, { counted: true });
    await failureOf(client.swap(usdc, { counted: true }), 'budget_exhausted');
    expect(signed).toHaveLength(1);
  });

  it('leaves nothing counted if nothing was signed', async () => {
    const journal = memoryJournal();
    const { client } = await payerOn(sandbox, { SOL: '1', USDC: '1' }, { journal });
    sandbox.controls.aggregator.setVenue({ modes: [MODE.underpay], amount: 300_000n });
    const request = { inputMint: 'SOL', outputMint: 'USDC', uiAmount: '0.01' };
    await failureOf(client.swap(request, { counted: true }));
    expect(await dollars(client)).toBe('0');
  });
});

describe('a swap that is to be no worse than an approved quote', () => {
  const { picoUsd } = sandbox.mints.SOL;
  const orders = [
    { inputMint: 'SOL', outputMint: 'USDC', uiAmount: '0.1' },
    { inputMint: 'SOL', outputMint: 'USDC', uiAmount: '15', swapMode: 'ExactOut' },
  ] as const;
  /** What a move of the price by so many basis points leaves of it. */
  const after = (bps: bigint) => (picoUsd * (10_000n - bps)) / 10_000n;

  it.each(orders)(
    'is made within its bounds if the price moves a little ($uiAmount)',
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

  it.each(orders)('is not signed if the price moves past it ($uiAmount)', async (order) => {
    const { client, signed } = await payerOn(sandbox, { SOL: '1', USDC: '0' });
    const approved = await client.quote(order);
    sandbox.controls.aggregator.setPrice('SOL', after(60n));
    const error = await failureOf(
      client.swap(order, { noWorseThan: approved, counted: true }),
      'approval_refused',
    );
    expect(error).toMatchObject({ funds: 'untouched', details: { reason: 'changed' } });
    expect(signed).toEqual([]);
  });

  it('brings nothing rather than less, if the venue moves further after the last quote', async () => {
    const [order] = orders;
    const { client, address } = await payerOn(sandbox, { SOL: '1', USDC: '0' });
    const approved = await client.quote(order);
    sandbox.controls.aggregator.setPrice('SOL', after(30n));
    sandbox.controls.aggregator.setVenue({ deviationBps: -40 });
    await failureOf(client.swap(order, { noWorseThan: approved }));
    expect(await sandbox.balance(address, 'USDC')).toBe(0n);
    // Without it this is within the slippage of a new quote.
    await client.swap(order);
    expect(await sandbox.balance(address, 'USDC')).toBeLessThan(BigInt(approved.minOutAmount));
  });

  it('takes nothing for a bound that is none', async () => {
    const { client } = await payerOn(sandbox, { SOL: '1' });
    const noWorseThan = { maxInAmount: 'all', minOutAmount: '0' };
    await failureOf(client.swap(orders[0], { noWorseThan }), 'invalid_option');
  });
});

describe('the swap tool', () => {
  it('swaps at the price that was approved, or not at all', async () => {
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
