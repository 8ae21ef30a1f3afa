import { describe, expect, it } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest } from '../helpers/seller.js';
import { offerOf, settle } from '../helpers/settling.js';
import { timesSpent } from '../helpers/spends.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

const post = { method: 'POST', body: 'x' };

/** Starts a seller of a stream that stays open; `cut` breaks its connections. */
async function sellerOf(parts: readonly string[]) {
  const cuts: (() => void)[] = [];
  const seller = await sellerOfTest((request, response) => {
    if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
    cuts.push(() => request.socket.destroy());
    void settle(sandbox, request).then(async () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const part of parts)
        await new Promise<void>((sent) => response.write(part, () => sent()));
    });
  });
  return { url: seller.url, cut: () => cuts.forEach((cut) => cut()) };
}

/** Reads events until a text has come, and leaves the rest. */
async function readUntil(text: string, { body }: Response): Promise<void> {
  const reader = body?.getReader();
  let seen = '';
  while (!seen.endsWith(text)) seen += new TextDecoder().decode((await reader?.read())?.value);
  await reader?.cancel();
}

describe('a paid stream of events with a reader that leaves it', () => {
  it.each([
    ['the last event', ['data: {"a":1}\n\n', 'data: [DONE]\n\n']],
    ['the last event in parts', ['data: {"a":1}\n\ndata: [DO', 'NE]', '\n\n']],
    ['the last event with long line ends', ['data: {"a":1}\r\n\r\ndata:[DONE]\r\n\r\n']],
    ['the only event, which is the last', ['data: [DONE]\n\n']],
  ])('is delivered after %s: an equal call buys again', async (_, parts) => {
    const payer = await payerOn(sandbox, { USDC: '1' });
    const { url } = await sellerOf(parts);
    const end = parts.join('').slice(-8);
    for (const _ of [1, 2]) await readUntil(end, await payer.client.fetch(url, post));
    expect(await timesSpent(sandbox, payer, 'USDC')).toBe(2);
  });

  it.each([
    ['another event', 'data: {"a":1}\n\n'],
    ['text that quotes the last event', 'data: {"a":"data: [DONE]\n\n'],
    ['text that quotes it before empty lines', `data: {"a":"data: [DONE]${'\n'.repeat(8)}`],
    ['a part of the last event', 'data: {"a":1}\n\ndata: [DONE]'],
  ])('is not paid again after %s', async (_, text) => {
    const payer = await payerOn(sandbox, { USDC: '1' });
    const { url } = await sellerOf([text]);
    await readUntil(text, await payer.client.fetch(url, post));
    await failureOf(payer.client.fetch(url, post), 'already_spent');
    expect(await timesSpent(sandbox, payer, 'USDC')).toBe(1);
  });

  it('is not paid again if it breaks off behind the last event while it is read', async () => {
    const payer = await payerOn(sandbox, { USDC: '1' });
    const { url, cut } = await sellerOf(['data: [DONE]\n\n']);
    const { body } = await payer.client.fetch(url, post);
    const reader = body?.getReader();
    await reader?.read();
    const broken = expect(reader?.read()).rejects.toThrow();
    cut();
    await broken;
    await failureOf(payer.client.fetch(url, post), 'already_spent');
    expect(await timesSpent(sandbox, payer, 'USDC')).toBe(1);
  });
});
