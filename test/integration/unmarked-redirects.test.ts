import type { IncomingMessage, ServerResponse } from 'node:http';
import { receiptOf } from 'exact-change';
import { expect, it, onTestFinished } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { failureOf, payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';
import { isPaid, startSeller } from '../helpers/seller.js';
import { answer, offerOf, settle, settlementHeader } from '../helpers/settling.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

/** Follows redirects as the fetch of React Native does: only the URL of the response shows them. */
const unmarked: typeof fetch = async (input, init) =>
  Object.defineProperty(await fetch(input, init), 'redirected', { value: undefined });

/** Starts a seller, and a door that redirects to it. */
async function sellerBehindDoor() {
  const sell = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!isPaid(request)) return answer(response, 402, envelopeV2([offerOf(sandbox)]));
    const settled = await settle(sandbox, request);
    answer(response, 200, { ok: true }, settlementHeader({ ...settled }));
  };
  const seller = await startSeller((request, response) => void sell(request, response));
  const door = await startSeller((_, response) => {
    response.writeHead(302, { location: seller.url }).end();
  });
  onTestFinished(async () => {
    await Promise.all([seller.close(), door.close()]);
  });
  return { seller, door };
}

it('presents no payment to a door that redirected an earlier call to its seller', async () => {
  const { seller, door } = await sellerBehindDoor();
  const { client } = await payerOn(
    sandbox,
    { USDC: '1' },
    { presign: [door.url], fetch: unmarked },
  );
  for (const _ of [1, 2]) {
    const response = await client.fetch(door.url);
    expect(await response.json()).toEqual({ ok: true });
    expect(receiptOf(response)?.url).toBe(`${seller.url}/`);
  }
  expect(door.seen.filter(isPaid)).toEqual([]);
  expect(seller.paid).toHaveLength(2);
});

it('does not pay for a POST that was redirected, since its method may have changed', async () => {
  const { seller, door } = await sellerBehindDoor();
  const { client, signed } = await payerOn(sandbox, { USDC: '1' }, { fetch: unmarked });
  await failureOf(client.fetch(door.url, { method: 'POST', body: 'please' }), 'unsupported_offer');
  expect([signed, seller.paid]).toEqual([[], []]);
});
