import { memoryJournal } from 'exact-change';
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
