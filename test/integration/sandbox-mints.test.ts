import { address } from '@solana/kit';
import { createClient } from 'exact-change';
import { createSandbox, type NewMint } from 'exact-change-sandbox';
import { describe, expect, it } from 'vitest';
import { POOL_AUTHORITY } from '../../adapters/sandbox/venue/venue.mjs';
import { tokenAccount } from '../helpers/chain.js';
import { onSandbox } from '../helpers/flow.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, startSeller } from '../helpers/seller.js';
import { answer, offerOf } from '../helpers/settling.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const DOLLAR = 10n ** 12n;

/** Asks Jupiter for a quote of so many base units of `outputMint` for USDC. */
async function asked(outputMint: string, amount: bigint): Promise<Record<string, unknown>> {
  const query = {
    inputMint: sandbox.mints.USDC.address,
    outputMint,
    amount: String(amount),
    swapMode: 'ExactOut',
  };
  const response = await fetch(
    `${sandbox.jupiterUrl}/swap/v1/quote?${new URLSearchParams(query).toString()}`,
  );
  return (await response.json()) as Record<string, unknown>;
}

describe('a mint that a test creates', () => {
  const kinds = [0, 2, 9, 18].flatMap((decimals) =>
    (['spl-token', 'spl-token-2022'] as const).map((program) => [decimals, program] as const),
  );

  it.each(kinds)(
    'has %d decimals, belongs to %s, and is quoted at its price',
    async (decimals, program) => {
      const wholeToken = 10n ** BigInt(decimals);
      const mint = await sandbox.createMint({
        decimals,
        program,
        picoUsd: decimals > 12 ? 1n : (3n * DOLLAR) / wholeToken,
      });
      const response = await fetch(sandbox.rpcUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'getAccountInfo',
          params: [mint.address, { encoding: 'jsonParsed' }],
        }),
      });
      expect(await response.json()).toMatchObject({
        result: {
          value: {
            owner: mint.tokenProgram,
            data: { program, parsed: { type: 'mint', info: { decimals } } },
          },
        },
      });
      const amount = decimals > 12 ? 3n * DOLLAR : wholeToken;
      const { inAmount } = await asked(mint.address, amount);
      expect(Number(inAmount)).toBeGreaterThan(3_000_000);
      expect(Number(inAmount)).toBeLessThan(3_010_000);
    },
  );

  it('is not tradable in another sandbox', async () => {
    await using other = await createSandbox();
    const { address: foreign } = await other.createMint({ decimals: 6, picoUsd: 1_000_000n });
    expect(await asked(foreign, 1n)).toMatchObject({ errorCode: 'TOKEN_NOT_TRADABLE' });
  });

  it.each<[string, Partial<NewMint>]>([
    ['decimals below 0', { decimals: -1 }],
    ['decimals that are no integer', { decimals: 0.5 }],
    ['decimals that no byte holds', { decimals: 256 }],
    ['a price of nothing', { picoUsd: 0n }],
    ['an authority that is no address', { authority: 'me' }],
    ['a payee that is no address', { proceedsTo: 'me' }],
  ])('is refused for %s', async (_name, change) => {
    await expect(sandbox.createMint({ decimals: 6, picoUsd: 1n, ...change })).rejects.toThrow(
      /decimals|price|address/,
    );
  });
});

describe('a token that its own seller made', () => {
  /** Starts a seller that asks for the mints in turn and refuses every payment. */
  async function greedy(
    mints: readonly { readonly address: string }[],
    payTo: string,
    amount: bigint,
  ) {
    let calls = 0;
    return startSeller((request, response) => {
      if (isPaid(request)) return answer(response, 402, {});
      const mint = mints[calls++ % mints.length];
      answerTerms(response, {
        x402Version: 2,
        accepts: [offerOf(sandbox, { asset: mint?.address, payTo, amount: String(amount) })],
      });
    });
  }

  it.each(['spl-token', 'spl-token-2022'] as const)(
    'is bought from the pool of %s, so the seller has the money without a payment',
    async (program) => {
      const own = address((await sandbox.createWallet({ SOL: '0.1' })).address);
      const mints = [];
      for (const decimals of [0, 9]) {
        const picoUsd = DOLLAR / 2n / 10n ** BigInt(decimals);
        const mint = await sandbox.createMint({
          decimals,
          picoUsd,
          program,
          authority: own,
          proceedsTo: own,
        });
        await sandbox.chain.fundToken(own, mint, 0n);
        mints.push({ mint, price: 10n ** BigInt(decimals) });
      }
      for (const { mint, price } of mints) {
        const before = await sandbox.balance(own, 'USDC');
        const wallet = await sandbox.createWallet({ SOL: '0.1', USDC: '5' });
        const seller = await greedy([mint], own, price);
        const client = createClient(onSandbox(sandbox, wallet));
        try {
          await expect(client.fetch(seller.url)).rejects.toThrow();
        } finally {
          await client.close();
          await seller.close();
        }
        const spent = 5_000_000n - (await sandbox.balance(wallet.address, 'USDC'));
        expect(spent).toBeGreaterThanOrEqual(500_000n);
        expect((await sandbox.balance(own, 'USDC')) - before).toBe(spent);
        expect(await sandbox.balance(wallet.address, mint)).toBeGreaterThanOrEqual(price);
      }
    },
  );

  it('cannot be bought once its pool is gone: the swap fails in simulation', async () => {
    const mint = await sandbox.createMint({ decimals: 6, picoUsd: 1_000_000n });
    const vault = address(await tokenAccount(POOL_AUTHORITY, mint));
    sandbox.chain.setAccount(vault, {
      lamports: 0n,
      data: new Uint8Array(),
      owner: address('11111111111111111111111111111111'),
      executable: false,
    });
    const wallet = await sandbox.createWallet({ SOL: '0.1', USDC: '5' });
    const client = createClient(onSandbox(sandbox, wallet));
    await expect(
      client.swap({
        inputMint: 'USDC',
        outputMint: mint.address,
        amount: '1000000',
        swapMode: 'ExactOut',
      }),
    ).rejects.toMatchObject({ code: 'simulation_failed' });
    await client.close();
    expect(await sandbox.balance(wallet.address, 'USDC')).toBe(5_000_000n);
  });
});
