import type { Attempt, Client, ClientOptions } from 'exact-change';
import { expect, it } from 'vitest';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { storedOf } from '../helpers/attempts.js';
import { until } from '../helpers/chain.js';
import { journalOf } from '../helpers/journals.js';
import { failureOf, payerOn, type Payer } from '../helpers/payer.js';
import { processState } from '../helpers/process-state.js';
import { useSandbox } from '../helpers/sandbox.js';
import { answerTerms, isPaid, sellerOfTest } from '../helpers/seller.js';
import { answer, offerOf, settle, settlementHeader } from '../helpers/settling.js';
import { signedOf, timesSpent } from '../helpers/spends.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

/** Makes a client of a payer's wallet that shares the journal alone, as in another process. */
async function inOtherProcess(payer: Payer, options: ClientOptions): Promise<Client> {
  const here = processState().map((name) => [name, Reflect.get(globalThis, name)] as const);
  for (const [name] of here) Reflect.deleteProperty(globalThis, name);
  try {
    const client = payer.again(options);
    // A client takes the state of its process at the first call that needs it.
    await client.spent();
    return client;
  } finally {
    for (const [name, state] of here) Reflect.set(globalThis, name, state);
  }
}

/** Lets a client's node fail from its next paid request on. Returns a function that ends that. */
function blindAfterPaying(client: Client, caller: string): () => void {
  let end = (): void => undefined;
  const stop = client.on('payment.sent', () => {
    stop();
    const fault = { kind: 'error', code: -32_603, message: 'Internal error' } as const;
    end = sandbox.controls.node.fault('*', fault, caller);
  });
  return () => end();
}

type Stored = () => Promise<Attempt | undefined>;

/**
 * A process that lost the answer to its payment, and another that presents the payment again. The
 * seller serves the second presentation, after `beforeAnswer`, and all later payments.
 */
async function twoProcesses(beforeAnswer: (stored: Stored) => Promise<unknown>) {
  const journal = await journalOf('file');
  const stored: Stored = async () => (await storedOf(journal, payer))[0];
  const optionsOf = (caller: string) => ({
    journal,
    rpcUrl: `${sandbox.rpcUrl}/?caller=${caller}`,
  });
  const payer = await payerOn(sandbox, { USDC: '1' }, optionsOf('first'));
  const seller = await sellerOfTest((request, response) => {
    if (!isPaid(request)) return answerTerms(response, envelopeV2([offerOf(sandbox)]));
    if (seller.paid.length === 1) return void request.socket.destroy();
    void settle(sandbox, request).then(async (settled) => {
      await beforeAnswer(stored);
      answer(response, 200, { ok: true }, settlementHeader({ ...settled }));
    });
  });
  return {
    ...{ payer, stored, url: seller.url },
    lose: () => failureOf(payer.client.fetch(seller.url), 'payment_uncertain'),
    other: () => inOtherProcess(payer, optionsOf('other')),
    /** Expects that the next equal call is a purchase of its own. */
    async buysAnew() {
      expect((await payer.client.fetch(seller.url)).status).toBe(200);
      expect(signedOf(payer, 'payment')).toBe(2);
      expect(await timesSpent(sandbox, payer, 'USDC')).toBe(2);
    },
  };
}

it('keeps a delivery on record if another process closed the payment before', async () => {
  const { stored, url, lose, other, buysAnew } = await twoProcesses((record) =>
    until('the first process has closed the payment', async () =>
      (await record())?.state === 'settled' ? true : undefined,
    ),
  );
  await lose();
  const client = await other();
  const see = blindAfterPaying(client, 'other');
  expect(await (await client.fetch(url)).json()).toEqual({ ok: true });
  see();
  await until('the delivery is on record', async () =>
    (await stored())?.delivered === true ? true : undefined,
  );
  await buysAnew();
});

it('keeps a delivery on record if the process that signed closes the payment after', async () => {
  const { payer, stored, url, lose, other, buysAnew } = await twoProcesses(async () => undefined);
  const see = blindAfterPaying(payer.client, 'first');
  await lose();
  expect(await (await (await other()).fetch(url)).json()).toEqual({ ok: true });
  await until('the other process has closed the payment', async () => {
    const { state, delivered } = (await stored()) ?? {};
    return state === 'settled' && delivered === true ? true : undefined;
  });
  see();
  await until('the first process has closed it too', () =>
    payer.events.filter(({ type }) => type === 'payment.settled').length === 2 ? true : undefined,
  );
  expect(await stored()).toMatchObject({ state: 'settled', delivered: true });
  await buysAnew();
});
