import {
  local,
  type ClientOptions,
  type SwapQuote,
  type SwapRequest,
  type Transport,
} from 'exact-change';
import { beforeAll, describe, expect, it } from 'vitest';
import { takerUrl } from '../helpers/bounds.js';
import { payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { refusal } from '../helpers/untouched.js';

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 20 });
let honest: Transport;
beforeAll(async () => {
  honest = local({ rpcUrl: sandbox.rpcUrl, jupiterUrl: sandbox.jupiterUrl });
});

const taker = (...asked: Parameters<typeof takerUrl>[1][number][]) => takerUrl(sandbox, asked);

/** Client options for a service that answers with the quote that `change` returns. */
const service = (change: (quote: SwapQuote, request: SwapRequest) => unknown): ClientOptions => ({
  autoSwap: true,
  // The cast lets a test send a quote that its type forbids.
  transport: {
    ...honest,
    quote: async (request, options) =>
      change(await honest.quote(request, options), request) as SwapQuote,
  },
});

const times = (text: string, factor: bigint) => (BigInt(text) * factor).toString();

describe('a service as the transport of a client', () => {
  it.each(['1', '-1000000000', 'abc'])(
    'cannot evade a cap by an output of %s',
    async (outAmount) => {
      const payer = await payerOn(
        sandbox,
        { SOL: '3', USDC: '50' },
        service((quote) => ({ ...quote, outAmount })),
      );
      const url = await taker(['SOL', '1000000000']);
      await refusal(sandbox, payer, 'amount_over_limit', () => payer.client.fetch(url));
      const cheap = await taker(['SOL', '1000000']);
      expect((await payer.client.fetch(cheap)).status).toBe(200);
      expect(Number((await payer.client.spent())[0]?.used)).toBeGreaterThan(0.1);
    },
  );

  it.each<[string, (quote: SwapQuote) => unknown]>([
    ['undefined', () => undefined],
    ['a list', () => []],
    ['an amount below zero', (quote) => ({ ...quote, inAmount: '-1' })],
    ['an amount that is a number', (quote) => ({ ...quote, outAmount: 1 })],
    ['a word as time', (quote) => ({ ...quote, quotedAt: 'now' })],
    ['an object as provider', (quote) => ({ ...quote, provider: { toString: 'x' } })],
    ['a text as price impact', (quote) => ({ ...quote, priceImpactBps: '0' })],
    ['a text as route', (quote) => ({ ...quote, route: 'direct' })],
  ])('is refused with quote_mismatch when its quote is invalid: %s', async (_name, change) => {
    const payer = await payerOn(sandbox, { SOL: '1' }, service(change));
    const url = await taker(['USDC', '10000']);
    await refusal(sandbox, payer, 'quote_mismatch', () => payer.client.fetch(url));
    await refusal(sandbox, payer, 'quote_mismatch', () =>
      payer.client.swap({ inputMint: 'SOL', outputMint: 'USDC', amount: '1000000' }),
    );
  });

  const dearer = (quote: SwapQuote) => ({
    ...quote,
    swapMode: 'ExactIn',
    inAmount: times(quote.maxInAmount, 300n),
    maxInAmount: times(quote.maxInAmount, 300n),
    outAmount: times(quote.minOutAmount, 2n),
    minOutAmount: ((BigInt(quote.minOutAmount) * 2n * 9_950n) / 10_000n).toString(),
  });
  const wholesale = (quote: SwapQuote) => ({
    ...dearer(quote),
    inAmount: times(quote.maxInAmount, 300n),
    maxInAmount: times(quote.maxInAmount, 300n),
    outAmount: times(quote.minOutAmount, 300n),
    minOutAmount: ((BigInt(quote.minOutAmount) * 300n * 9_950n) / 10_000n).toString(),
  });
  const overstated = (quote: SwapQuote) => ({
    ...quote,
    inAmount: times(quote.inAmount, 300n),
    maxInAmount: ((BigInt(quote.inAmount) * 300n * 10_050n + 9_999n) / 10_000n).toString(),
    outAmount: (BigInt(quote.outAmount) * 2n).toString(),
  });

  it.each([
    ['an input of its own choosing', dearer],
    ['an output that it only says', overstated],
  ])('cannot make a swap take too much by %s', async (_name, change) => {
    for (const [input, output] of [
      ['SOL', 'USDC'],
      ['USDT', 'USDC'],
    ] as const) {
      const payer = await payerOn(
        sandbox,
        { SOL: '5', USDT: '500' },
        { ...service(change), swapFrom: [input] },
      );
      const url = await taker([output, '10000']);
      await refusal(sandbox, payer, 'swap_overhead_too_high', () => payer.client.fetch(url));
      const request = {
        inputMint: input,
        outputMint: output,
        amount: '10000',
        swapMode: 'ExactOut',
      } as const;
      await refusal(sandbox, payer, 'swap_overhead_too_high', () => payer.client.swap(request));
    }
  });

  it('cannot make a swap bigger than requested, even at a fair price', async () => {
    const payer = await payerOn(sandbox, { SOL: '5' }, service(wholesale));
    const url = await taker(['USDC', '10000']);
    await refusal(sandbox, payer, 'quote_mismatch', () => payer.client.fetch(url));
    const request = {
      inputMint: 'SOL',
      outputMint: 'USDC',
      amount: '10000',
      swapMode: 'ExactOut',
    } as const;
    await refusal(sandbox, payer, 'quote_mismatch', () => payer.client.swap(request));
  });

  it('cannot make a second quote take more than the bound of the first', async () => {
    let quotes = 0;
    // The first quote is so old that the swap asks for a second.
    const later = service((quote) => (++quotes === 1 ? { ...quote, quotedAt: 1 } : dearer(quote)));
    const payer = await payerOn(sandbox, { SOL: '5' }, later);
    const url = await taker(['USDC', '10000']);
    await refusal(sandbox, payer, 'swap_overhead_too_high', () => payer.client.fetch(url));
    expect(quotes).toBe(2);
  });

  it("builds a swap at a price that the client's own Jupiter confirms", async () => {
    const payer = await payerOn(
      sandbox,
      { SOL: '1' },
      service((quote) => quote),
    );
    const swapped = await payer.client.swap({
      inputMint: 'SOL',
      outputMint: 'USDC',
      amount: '1000000',
      swapMode: 'ExactOut',
    });
    expect(BigInt(swapped.outAmount)).toBeGreaterThanOrEqual(1_000_000n);
  });

  it("builds a swap without the client's own Jupiter only within policy.maxInAmount", async () => {
    const jupiterUrl = `${sandbox.jupiterUrl}/nowhere`;
    const payer = await payerOn(
      sandbox,
      { SOL: '1' },
      { ...service((quote) => quote), jupiterUrl },
    );
    const request = {
      inputMint: 'SOL',
      outputMint: 'USDC',
      amount: '10000',
      swapMode: 'ExactOut',
    } as const;
    await refusal(sandbox, payer, 'jupiter_unavailable', () => payer.client.swap(request));
    const url = await taker(['USDC', '10000']);
    await refusal(sandbox, payer, 'jupiter_unavailable', () => payer.client.fetch(url));
    const bounded = payer.again({
      ...service((quote) => quote),
      jupiterUrl,
      policy: { maxInAmount: { SOL: '2000000' } },
    });
    await bounded.swap(request);
    expect((await bounded.fetch(url)).status).toBe(200);
  });
});

describe('a swap that the local transport builds', () => {
  const built = async (maxFeeLamports: string) => {
    const { address } = await sandbox.createWallet({ SOL: '1' });
    const { rpcUrl, jupiterUrl } = sandbox;
    const transport = local({ rpcUrl, jupiterUrl, policy: { maxFeeLamports } });
    const quote = await transport.quote({
      inputMint: 'SOL',
      outputMint: 'USDC',
      amount: '1000000',
    });
    return transport.buildSwap({ wallet: address, quote });
  };

  it('costs at most policy.maxFeeLamports, including its signature', async () => {
    const { priorityFeeLamports } = await built('5100');
    expect(Number(priorityFeeLamports)).toBeLessThanOrEqual(100);
    await expect(built('4999')).rejects.toMatchObject({
      code: 'fees_over_limit',
      details: { lamports: '5000', limitLamports: '4999' },
    });
  });
});
