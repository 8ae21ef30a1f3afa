import { receiptOf } from 'exact-change';
import { describe, expect, it, onTestFinished } from 'vitest';
import { clientOf, failureOf, newBuyer } from '../helpers/fetch-buyer.js';
import { startSeller, type SellerOptions } from '../helpers/fetch-seller.js';
import { PRICE } from '../helpers/fetch-twins.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ slotMs: 20, confirmationMs: 0 });

async function seller(options?: SellerOptions): Promise<string> {
  const started = await startSeller(sandbox, options);
  onTestFinished(() => started.close());
  return started.url;
}

/** Returns a fetch that keeps the answers of POST requests, as that of Next.js does in a page. */
function keepingFetch(): typeof fetch {
  const kept = new Map<string, Response>();
  return async (input, init) => {
    if (init?.method !== 'POST' || init.cache === 'no-store') return fetch(input, init);
    const key = `${String(input)} ${String(init.body)}`;
    const response = kept.get(key) ?? (await fetch(input, init));
    kept.set(key, response.clone());
    return response;
  };
}

describe('a fetch with a cache', () => {
  it('gives a later client no old answer of a node', async () => {
    const url = await seller();
    const keeping = { fetch: keepingFetch() };
    const buyer = await newBuyer(sandbox, keeping);
    expect((await buyer.client.fetch(url)).status).toBe(200);
    sandbox.controls.node.warp();
    const later = clientOf(sandbox, buyer.wallet, keeping);
    expect((await later.fetch(url)).status).toBe(200);
    expect(await buyer.spent()).toBe(2n * PRICE);
  });

  it('gets no signature if it must keep each answer, as in a static page of Next.js', async () => {
    const buyer = await newBuyer(sandbox, {
      fetch: (input, init) =>
        init?.cache === 'no-store'
          ? Promise.reject(new Error('Page changed from static to dynamic'))
          : fetch(input, init),
    });
    const signed: string[] = [];
    buyer.client.on('payment.signed', ({ id }) => signed.push(id));
    const error = await failureOf(buyer.client.fetch(await seller()));
    expect(error).toMatchObject({ code: 'rpc_unavailable', funds: 'untouched' });
    expect(signed).toEqual([]);
  });
});

it('plans a call by the answer of the cache that the call itself would ask', async () => {
  const modes: unknown[] = [];
  const url = await seller();
  const { client } = await newBuyer(sandbox, {
    fetch: (input, init) => {
      if (input === url) modes.push(init?.cache);
      return fetch(input, init);
    },
  });
  await client.plan(url);
  await client.plan(url, { cache: 'reload' });
  expect(modes).toEqual([undefined, 'reload']);
});

describe('a 304 to a paid request', () => {
  it('is the delivery, so that the next call is a new purchase', async () => {
    const url = await seller({
      serve: (_request, response) => void response.writeHead(304).end(),
    });
    const buyer = await newBuyer(sandbox);
    const poll = () => buyer.client.fetch(url, { headers: { 'if-none-match': '"a"' } });
    const first = await poll();
    expect([first.status, receiptOf(first)?.state]).toEqual([304, 'pending']);
    expect((await poll()).status).toBe(304);
    expect(await buyer.spent()).toBe(2n * PRICE);
  });
});
