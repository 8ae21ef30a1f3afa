import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Client } from 'exact-change';
import { agentTools } from 'exact-change/ai';
import { describe, expect, it, onTestFinished } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { until } from '../helpers/chain.js';
import { payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest, startSeller, type Seller } from '../helpers/seller.js';
import { answer, offerOf, settle } from '../helpers/settling.js';
import { timesSpent } from '../helpers/spends.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

function paidFetchOf(client: Client) {
  const tools = agentTools(client, { privateHosts: true });
  const tool = tools.find(({ name }) => name === 'paid_fetch');
  if (tool === undefined) throw new Error('There is no tool paid_fetch.');
  return tool;
}

/** The paid_fetch tool of a wallet with 1 USDC, and its seller. */
async function buyerAt(sell: Parameters<typeof startSeller>[0]) {
  const seller: Seller = await startSeller((request, response) =>
    isPaid(request)
      ? sell(request, response)
      : answerTerms(response, envelopeV2([offerOf(sandbox)])),
  );
  onTestFinished(() => seller.close());
  const payer = await payerOn(sandbox, { USDC: '1' });
  const tool = paidFetchOf(payer.client);
  return {
    payer,
    buy: (signal?: AbortSignal) => tool.run({ url: seller.url }, { signal }),
    spent: () => timesSpent(sandbox, payer, 'USDC'),
  };
}

describe('the paid_fetch tool', () => {
  it('reports funds as spent when the paid answer breaks off', async () => {
    const { buy, spent } = await buyerAt((request, response) => {
      void settle(sandbox, request).then(() => {
        response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '100' });
        response.write('half of it');
        setImmediate(() => response.destroy());
      });
    });
    const result = await buy();
    expect(await spent()).toBe(1);
    expect(result).toMatchObject({
      ok: false,
      funds: 'spent',
      error: {
        code: 'request_failed',
        message: 'The answer of the seller broke off. It was paid.',
      },
      data: { receipt: { state: 'settled' } },
    });
  });

  it('reports funds as uncertain when it is aborted while the seller settles', async () => {
    const ending = new AbortController();
    let settling: Promise<unknown> | undefined;
    const { buy, spent } = await buyerAt((request) => {
      ending.abort();
      settling = settle(sandbox, request);
    });
    const { ok, funds, error } = await buy(ending.signal);
    expect([ok, funds, error?.code, error?.retry]).toEqual([
      false,
      'uncertain',
      'request_failed',
      'never',
    ]);
    expect(error?.message).not.toContain('Nothing was paid');
    await settling;
    expect(await spent()).toBe(1);
  });

  it.each([
    ['answers with a failure', (_: unknown, response: ServerResponse) => answer(response, 500, {})],
    ['breaks off', (_: unknown, response: ServerResponse) => response.destroy()],
  ] as const)(
    'says that nothing was paid only if no earlier payment may land: the seller %s',
    async (_, fail) => {
      let kept: IncomingMessage | undefined;
      let isFailing = true;
      const seller = await sellerOfTest((request, response) => {
        if (isFailing) return void fail(request, response);
        if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
        kept = request;
        response.destroy();
      });
      const payer = await payerOn(sandbox, { USDC: '1' });
      const tool = paidFetchOf(payer.client);
      const buy = () => tool.run({ url: `${seller.url}#part` });
      expect(await buy()).toMatchObject({ funds: 'untouched', error: { retry: 'never' } });
      isFailing = false;
      expect(await buy()).toMatchObject({ funds: 'uncertain', error: { retry: 'same' } });
      isFailing = true;
      const { ok, funds, error } = await buy();
      expect({ ok, funds, code: error?.code, retry: error?.retry }).toEqual({
        ...{ ok: false, funds: 'uncertain', code: 'request_failed', retry: 'same' },
      });
      expect(error?.message).toContain('an earlier call to it may still land');
      if (kept === undefined) throw new Error('The seller got no payment.');
      await settle(sandbox, kept);
      await until('the client knows that it landed', () =>
        payer.events.find(({ type }) => type === 'payment.settled'),
      );
      expect(await buy()).toMatchObject({ funds: 'spent', error: { retry: 'same' } });
      expect(await timesSpent(sandbox, payer, 'USDC')).toBe(1);
    },
  );
});

describe('the paid_fetch tool, after a payment that has settled', () => {
  /** A seller that answers paid requests by `end`, and fails once it is down. */
  async function failing(end: (response: ServerResponse) => void) {
    let isDown = false;
    const seller = await sellerOfTest((request, response) => {
      if (isDown) return answer(response, 500, {});
      if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
      void settle(sandbox, request).then(() => end(response));
    });
    return { url: seller.url, goDown: () => (isDown = true) };
  }

  it.each<[string, (response: ServerResponse) => void]>([
    ['was a failure', (response) => answer(response, 500, {})],
    [
      'broke off',
      (response) => {
        response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '100' });
        response.write('half of it');
        setImmediate(() => response.destroy());
      },
    ],
  ])('reports funds as spent in a repeated call if its answer %s', async (_, end) => {
    const { url, goDown } = await failing(end);
    const { client } = await payerOn(sandbox, { USDC: '1' });
    const buy = () => paidFetchOf(client).run({ url });
    expect(await buy()).toMatchObject({ ok: false, funds: 'spent' });
    goDown();
    const { funds, error } = await buy();
    expect([funds, error?.retry]).toEqual(['spent', 'same']);
    expect(error?.message).not.toContain('Nothing was paid');
  });

  it('reports funds as spent though a later purchase with another body was delivered', async () => {
    let sold = 0;
    const { url, goDown } = await failing((response) => {
      sold += 1;
      answer(response, sold === 1 ? 500 : 200, {});
    });
    const { client } = await payerOn(sandbox, { USDC: '1' });
    const buy = (body: string) => paidFetchOf(client).run({ url, body });
    expect(await buy('a')).toMatchObject({ ok: false, funds: 'spent' });
    expect(await buy('b')).toMatchObject({ ok: true });
    goDown();
    const { funds, error } = await buy('a');
    expect([funds, error?.retry]).toEqual(['spent', 'never']);
    expect(error?.message).not.toContain('Nothing was paid');
  });

  it('reports funds as untouched if another program got its answer', async () => {
    const { url, goDown } = await failing((response) => answer(response, 200, { ok: true }));
    const payer = await payerOn(sandbox, { USDC: '1' });
    const { header } = await payer.client.pay(await fetch(url), { url });
    const paid = await fetch(url, { headers: { [header.name]: header.value } });
    expect(paid.status).toBe(200);
    await until('the client knows that it landed', () =>
      payer.events.find(({ type }) => type === 'payment.settled'),
    );
    goDown();
    expect((await paidFetchOf(payer.client).run({ url })).funds).toBe('untouched');
  });
});
