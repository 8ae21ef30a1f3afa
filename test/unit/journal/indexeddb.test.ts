import { indexedDbJournal } from 'exact-change/journal/indexeddb';
import { afterEach, describe, expect, it, vi } from 'vitest';

afterEach(() => vi.unstubAllGlobals());

const never = () => new Promise<never>(() => undefined);
const owner = { wallet: 'w', network: 'n' };

/** A database of a browser: enough to read its name. */
const database = {
  close: vi.fn(),
  objectStoreNames: ['about', 'log'],
  transaction() {
    const transaction = {
      db: {},
      objectStore: () => ({ get: () => ({ result: 'name' }) }),
      oncomplete: () => undefined,
    };
    queueMicrotask(() => transaction.oncomplete());
    return transaction;
  },
};

/** Puts a browser around the journal; returns the function with which its database answers. */
function browser(request: (name: string, held: () => Promise<void>) => Promise<void>) {
  const opening = { result: database, onsuccess: () => undefined };
  vi.stubGlobal('indexedDB', { open: () => opening });
  vi.stubGlobal('navigator', { locks: { request, query: () => Promise.resolve({}) } });
  return () => opening.onsuccess();
}

describe('a journal whose browser never answers', () => {
  it('closes, and fails its calls, while the database opens; closes it when it opens', async () => {
    const freed = vi.fn();
    const answer = browser((_, held) => held().then(freed));
    const journal = indexedDbJournal();
    const call = journal.used(owner, [], 0);
    call.catch(() => undefined);
    await journal.close();
    await expect(call).rejects.toMatchObject({ code: 'journal_unavailable', retry: 'never' });
    answer();
    await expect.poll(() => freed).toHaveBeenCalled();
    expect(database.close).toHaveBeenCalled();
  });

  it('closes, and fails its calls, while it waits for its Web Lock', async () => {
    const asked = vi.fn(never);
    const answer = browser(asked);
    const journal = indexedDbJournal();
    const call = journal.used(owner, [], 0);
    call.catch(() => undefined);
    await expect.poll(() => (answer(), asked)).toHaveBeenCalled();
    await journal.close();
    await expect(call).rejects.toMatchObject({ code: 'journal_unavailable', retry: 'never' });
  });
});
