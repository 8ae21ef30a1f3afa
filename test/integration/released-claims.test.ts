import { memoryJournal, type Journal } from 'exact-change';
import { expect, it } from 'vitest';
import { createCoordination, withCoordination } from '../../src/journal/registry.js';
import type { Coordination } from '../../src/journal/types.js';
import { until } from '../helpers/chain.js';
import { payerOn } from '../helpers/payer.js';
import { useSandbox } from '../helpers/sandbox.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

it('tells the journal of a released claim although its client has closed since', async () => {
  const inner = createCoordination();
  const claimed: string[] = [];
  let isDown = false;
  const shared: Coordination = {
    ...inner,
    claims: {
      ...inner.claims,
      take: (ids) => (claimed.push(...ids), inner.claims.take(ids)),
      drop: (ids) =>
        isDown ? Promise.reject(new Error('The disk is full.')) : inner.claims.drop(ids),
    },
  };
  const journal: Journal = {
    ...withCoordination(memoryJournal(), shared),
    coordination: () => shared,
  };
  const { client } = await payerOn(sandbox, { USDC: '1' }, { journal });
  const response = await client.fetch(`${sandbox.apiUrl}/usdc`);
  isDown = true;
  await response.text();
  await client.close();
  expect((await inner.claims.live(claimed)).size).toBeGreaterThan(0);
  isDown = false;
  await until('the claims have ended', async () =>
    (await inner.claims.live(claimed)).size === 0 ? true : undefined,
  );
});
