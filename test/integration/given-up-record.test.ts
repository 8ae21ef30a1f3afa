import { memoryJournal, type Journal } from 'exact-change';
import { expect, it } from 'vitest';
import { storedOf } from '../helpers/attempts.js';
import { until } from '../helpers/chain.js';
import { failureOf } from '../helpers/fetch-buyer.js';
import { payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

it('keeps what another process wrote of a payment recorded after its caller gave up', async () => {
  const inner = memoryJournal();
  const controller = new AbortController();
  let goOn = (): void => undefined;
  const hasGivenUp = new Promise<void>((resolve) => (goOn = resolve));
  const journal: Journal = {
    ...inner,
    put: async (attempt, along) => {
      if (attempt.state === 'signed') {
        controller.abort();
        await hasGivenUp;
      }
      await inner.put(attempt, along);
    },
  };
  const payer = await payerOn(sandbox, { USDC: '0.01' }, { journal });
  const { signal } = controller;
  const failure = await failureOf(payer.client.fetch(`${sandbox.apiUrl}/usdc`, { signal }));
  expect(failure).toBe(signal.reason);
  goOn();
  const recorded = await until('it is recorded', async () =>
    (await storedOf(inner, payer)).find(({ state }) => state === 'signed'),
  );
  await inner.put({ ...recorded, toldAt: 7 });
  sandbox.controls.node.warp();
  await until('it is decided', () =>
    payer.events.some(({ type }) => type === 'payment.unsettled') ? true : undefined,
  );
  expect(await storedOf(inner, payer)).toMatchObject([{ state: 'unsettled', toldAt: 7 }]);
});
