import { expect, it } from 'vitest';
import { claimsWithReleases } from '../../../src/journal/released-claims.js';
import type { Claims } from '../../../src/journal/types.js';

const gate = () => {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { open, passed };
};
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Claims of a journal with drops that fail; the journal retries a failed drop once. */
function lettingGo(drop: (count: number, work: () => void) => Promise<void>) {
  const taken = new Set<string>();
  let drops = 0;
  const claims: Claims = {
    take: async (ids) => ids.forEach((id) => taken.add(id)),
    drop: (ids) => drop((drops += 1), () => ids.forEach((id) => taken.delete(id))),
    live: async (ids) => new Set(ids.filter((id) => taken.has(id))),
  };
  const rests: (() => void)[] = [];
  const rest = () => new Promise<void>((resolve) => void rests.push(resolve));
  return { claims: claimsWithReleases(claims, new Map(), rest), next: () => rests.shift()?.() };
}

const full = () => Promise.reject(new Error('The disk is full.'));

/** Takes a claim again while the retry of a failed drop is on its way. */
async function takenAnew({ claims, next }: ReturnType<typeof lettingGo>, land: () => void) {
  await claims.take(['one']);
  await claims.drop(['one']).catch(() => undefined);
  next();
  await turn();
  const again = claims.take(['one']);
  land();
  await again;
}

it('ends a claim that was taken again and dropped, whatever an earlier drop answers', async () => {
  const late = gate();
  const letting = lettingGo((count, work) => {
    if (count !== 2) return full();
    work();
    return late.passed;
  });
  await takenAnew(letting, late.open);
  await letting.claims.drop(['one']).catch(() => undefined);
  await turn();
  expect([...(await letting.claims.live(['one']))]).toEqual([]);
});

it('keeps a claim that was taken again when a drop from before is retried', async () => {
  const late = gate();
  const letting = lettingGo((count, work) => (count === 1 ? full() : late.passed.then(work)));
  await takenAnew(letting, late.open);
  await turn();
  expect([...(await letting.claims.live(['one']))]).toEqual(['one']);
});
