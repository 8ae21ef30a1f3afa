import { expect, it } from 'vitest';
import { SOLANA_MAINNET } from '../../../src/index.js';
import { createMemoryJournal } from '../../../src/journal/memory.js';
import type { Claims, Coordination, Journal } from '../../../src/journal/types.js';
import { newWallet } from '../../../src/journal/registry.js';
import { timedAs } from './timed-as.js';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Claims of a journal with a first drop that takes until `land` is called. */
function slowClaims() {
  const taken = new Set<string>();
  let land = (): void => undefined;
  let late: Promise<void> | undefined = new Promise<void>((resolve) => (land = resolve));
  const below: Claims = {
    take: async (ids) => ids.forEach((id) => taken.add(id)),
    drop: async (ids) => {
      const waiting = late;
      late = undefined;
      await waiting;
      ids.forEach((id) => taken.delete(id));
    },
    live: async (ids) => new Set(ids.filter((id) => taken.has(id))),
  };
  const coordination: Coordination = { ...newWallet().coordination, claims: below };
  const journal: Journal = { ...createMemoryJournal(), coordination: () => coordination };
  const owner = { wallet: 'wallet', network: SOLANA_MAINNET };
  const { coordination: timed } = timedAs(journal, owner, 20);
  if (timed === undefined) throw new Error('The journal has no coordination.');
  return { claims: timed.claims, land };
}

const unavailable = { code: 'journal_unavailable' };

it('keeps a claim that was taken again while an earlier drop exceeds its time', async () => {
  const { claims, land } = slowClaims();
  await claims.take(['one']);
  await expect(claims.drop(['one'])).rejects.toMatchObject(unavailable);
  const again = claims.take(['one']);
  land();
  await again;
  await turn();
  expect([...(await claims.live(['one']))]).toEqual(['one']);
});

// The caller of the second take has given up, so its claim would stay for ever.
it('ends a claim that waited too long for an earlier drop when it is dropped', async () => {
  const { claims, land } = slowClaims();
  await claims.take(['one']);
  await expect(claims.drop(['one'])).rejects.toMatchObject(unavailable);
  await expect(claims.take(['one'])).rejects.toMatchObject(unavailable);
  const dropping = claims.drop(['one']);
  land();
  await dropping;
  await turn();
  expect([...(await claims.live(['one']))]).toEqual([]);
});
