import { expect, it } from 'vitest';
import { SOLANA_MAINNET } from '../../../src/index.js';
import { claimsLetGo } from '../../../src/journal/let-go.js';
import { memoryJournal } from '../../../src/journal/memory.js';
import type { Claims, Coordination, Journal } from '../../../src/journal/types.js';
import { newWallet } from '../../../src/journal/registry.js';
import { timedJournal } from '../../../src/payments/journal-timeouts.js';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

it('a drop that outlasts its time does not end a claim that was taken anew meanwhile', async () => {
  const taken = new Set<string>();
  let land = (): void => undefined;
  const late = new Promise<void>((resolve) => (land = resolve));
  const below: Claims = {
    take: async (ids) => ids.forEach((id) => taken.add(id)),
    // The journal is slow: the drop lands after its time.
    drop: async (ids) => {
      await late;
      ids.forEach((id) => taken.delete(id));
    },
    live: async (ids) => new Set(ids.filter((id) => taken.has(id))),
  };
  const coordination: Coordination = { ...newWallet().coordination, claims: below };
  const journal: Journal = { ...memoryJournal(), coordination: () => coordination };
  const owner = { wallet: 'wallet', network: SOLANA_MAINNET };
  const { coordination: timed } = timedJournal(journal, owner, 20, {
    now: () => 0,
    onStep: () => undefined,
  });
  if (timed === undefined) throw new Error('none');
  const claims = claimsLetGo(timed.claims, new Map(), () => new Promise(() => undefined));
  await claims.take(['one']);
  await expect(claims.drop(['one'])).rejects.toMatchObject({ code: 'journal_unavailable' });
  const again = claims.take(['one']);
  land();
  await again;
  await turn();
  expect([...(await claims.live(['one']))]).toEqual(['one']);
});
