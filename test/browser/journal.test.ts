import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Claims } from '../../src/journal/types.js';
import { until } from '../helpers/chain.js';
import { launch, openPage, type BrowserPage } from './harness.js';

let browser: Browser;
let opened: BrowserPage;

beforeAll(async () => {
  browser = await launch();
  opened = await openPage(browser, 'journal.page.ts');
});

afterAll(async () => {
  await opened.close();
  await browser.close();
});

/** Reserves `times` payments of 0.01 USD at once, and returns the outcome of each. */
const reserve = (page: Page, name: string, times = 1, limit = 1_000_000, url = '') =>
  page.evaluate(
    async ([name, times, limit, url]) => {
      const { attemptOf, dayCap, indexedDbJournal } = journalPage;
      const journal = indexedDbJournal(name);
      const cap = dayCap(BigInt(limit));
      const results = await Promise.all(
        Array.from({ length: times }, async () => {
          try {
            return (await journal.reserve(attemptOf({ url }), [cap])) === undefined
              ? 'reserved'
              : 'full';
          } catch (error) {
            return String((error as { code?: string }).code);
          }
        }),
      );
      await journal.close();
      return results;
    },
    [name, times, limit, url] as const,
  );

const deleteDatabase = (page: Page, name: string) =>
  page.evaluate(
    (name) =>
      new Promise<string>((resolve) => {
        const request = indexedDB.deleteDatabase(name);
        request.onsuccess = () => resolve('deleted');
        request.onblocked = () => resolve('blocked');
      }),
    name,
  );

describe('indexedDbJournal in Chromium', () => {
  it.each([
    ['journal', 100],
    ['coordination', 15],
  ] as const)('keeps the %s contract', async (suite, tests) => {
    const ran = await opened.page.evaluate((name) => runSuite(name), suite);
    expect(ran.filter(({ state }) => state !== 'pass')).toEqual([]);
    expect(ran.length).toBeGreaterThan(tests);
  });

  it('reserves exactly up to a cap when two tabs write at once', async () => {
    const tabs = [opened.page, await opened.openTab()];
    const results = await Promise.all(tabs.map((tab) => reserve(tab, 'caps', 100, 505_000)));
    const reserved = results.flat().filter((result) => result === 'reserved');
    expect(reserved).toHaveLength(50);
    expect(new Set(results.flat())).toEqual(new Set(['reserved', 'full']));
    await tabs[1]?.close();
  });

  it('shows the same attempts in two tabs when it rewrites its log under them', async () => {
    const second = await opened.openTab();
    const tabs = [opened.page, second];
    for (const tab of tabs)
      await tab.evaluate(async () => {
        const { attemptOf, fullAttemptOf, indexedDbJournal } = journalPage;
        const journal = indexedDbJournal('anew');
        Object.assign(globalThis, { journal });
        // The second tab reads attempts from before its start and writes more.
        for (let turn = 0; turn < 12; turn += 1) {
          const many = Array.from({ length: 25 }, () =>
            attemptOf({ idempotencyKey: crypto.randomUUID() }),
          );
          await Promise.all(many.map((attempt) => journal.reserve(attempt, [])));
          const full = many.map((attempt) => ({
            ...fullAttemptOf(),
            ...attempt,
            state: 'signed' as const,
          }));
          await Promise.all(full.map((attempt) => journal.put(attempt)));
        }
      });
    const found = await Promise.all(
      tabs.map((tab) =>
        tab.evaluate(async () => {
          const { journal } = globalThis as unknown as {
            journal: ReturnType<typeof journalPage.indexedDbJournal>;
          };
          const owner = { wallet: 'wallet', network: 'network' };
          const used = await journal.used(owner, [journalPage.dayCap(0n)], 1_800_000_000_000);
          return { ids: await journalPage.idsOf(journal.attempts(owner)), used: used.map(String) };
        }),
      ),
    );
    expect(found[0]?.ids).toHaveLength(600);
    expect(found[1]).toEqual(found[0]);
    expect(found[0]?.used).toEqual(['6000000']);
    const first = await second.evaluate(
      () =>
        new Promise<unknown>((resolve) => {
          const open = indexedDB.open('anew');
          open.onsuccess = () => {
            const rows = open.result.transaction('log').objectStore('log').getAll(undefined, 1);
            rows.onsuccess = () => resolve(rows.result[0]);
          };
        }),
    );
    expect(first).toMatchObject({ anew: expect.any(Number) });
    await second.close();
  });

  it('refuses to start empty after the browser evicted its database', async () => {
    const tab = await opened.openTab();
    expect(await reserve(tab, 'evicted')).toEqual(['reserved']);
    await tab.evaluate(async () => {
      const journal = journalPage.indexedDbJournal('evicted');
      await journal.reserve(journalPage.attemptOf(), []);
      Object.assign(globalThis, { journal });
    });
    expect(await deleteDatabase(opened.page, 'evicted')).toBe('deleted');
    const later = await tab.evaluate(async () => {
      const { journal } = globalThis as unknown as {
        journal: ReturnType<typeof journalPage.indexedDbJournal>;
      };
      return journal.reserve(journalPage.attemptOf(), []).catch((error: unknown) => ({
        ...(error as { code: string; funds: string; message: string }),
        message: String(error),
      }));
    });
    expect(later).toMatchObject({
      code: 'journal_damaged',
      funds: 'untouched',
      message: expect.stringContaining('localStorage'),
    });
    await tab.reload();
    expect(await reserve(tab, 'evicted')).toEqual(['journal_damaged']);
    await tab.evaluate(() => localStorage.removeItem('exact-change journal evicted'));
    expect(await reserve(tab, 'evicted')).toEqual(['reserved']);
    await tab.close();
  });

  it('refuses to go on after the browser evicted the database that it made itself', async () => {
    const tab = await opened.openTab();
    await tab.evaluate(async () => {
      const journal = journalPage.indexedDbJournal('evicted early');
      await journal.reserve(journalPage.attemptOf(), []);
      Object.assign(globalThis, { journal });
    });
    expect(await deleteDatabase(opened.page, 'evicted early')).toBe('deleted');
    const later = await tab.evaluate(async () => {
      const { journal } = globalThis as unknown as {
        journal: ReturnType<typeof journalPage.indexedDbJournal>;
      };
      return journal.reserve(journalPage.attemptOf(), []).catch((error: unknown) => ({
        ...(error as { code: string }),
      }));
    });
    expect(later).toMatchObject({ code: 'journal_damaged' });
    expect(await reserve(tab, 'evicted early', 1, 10_000)).toEqual(['journal_damaged']);
    await tab.close();
  });

  it('fails a write that the browser forgets when it clears the storage of the origin', async () => {
    const { page, close } = await openPage(browser, 'journal.page.ts');
    const devtools = await page.context().newCDPSession(page);
    const { origin } = new URL(page.url());
    await page.route('**/clear', async (route) => {
      await devtools.send('Storage.clearDataForOrigin', { origin, storageTypes: 'indexeddb' });
      await route.fulfill({ body: '' });
    });
    const codes = await page.evaluate(async () => {
      const journal = journalPage.indexedDbJournal('cleared');
      const codeOf = () =>
        journal.reserve(journalPage.attemptOf(), []).then(
          () => 'reserved',
          (error: unknown) => (error as { code: string }).code,
        );
      const first = await codeOf();
      const { transaction } = IDBDatabase.prototype;
      IDBDatabase.prototype.transaction = function (...args) {
        IDBDatabase.prototype.transaction = transaction;
        const running = Reflect.apply(transaction, this, args);
        // The page does nothing else until the storage is cleared.
        const request = new XMLHttpRequest();
        request.open('GET', '/clear', false);
        request.send();
        return running;
      };
      const during = await codeOf();
      // Chromium may refuse a few more transactions before it makes an empty database.
      let last = during;
      while (last === 'journal_unavailable') last = await codeOf();
      return [first, during, last];
    });
    expect(codes).toEqual(['reserved', 'journal_unavailable', 'journal_damaged']);
    await close();
  });

  it('refuses a database of its name that another program made', async () => {
    const tab = await opened.openTab();
    await tab.evaluate(
      () =>
        new Promise<void>((resolve) => {
          const request = indexedDB.open('foreign', 1);
          request.onupgradeneeded = () => request.result.createObjectStore('about');
          request.onsuccess = () => resolve(request.result.close());
        }),
    );
    expect(await reserve(tab, 'foreign')).toEqual(['journal_damaged']);
    await tab.close();
  });

  it('refuses a write beyond its quota, and keeps its earlier attempts', async () => {
    // A new origin, because Chromium caches the quota of an origin with data.
    const { page, close } = await openPage(browser, 'journal.page.ts');
    const devtools = await page.context().newCDPSession(page);
    const { origin } = new URL(page.url());
    await devtools.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 1_000_000 });
    expect(await reserve(page, 'full', 3)).toEqual(['reserved', 'reserved', 'reserved']);
    const long = 'x'.repeat(2_000_000);
    expect(await reserve(page, 'full', 1, 1_000_000, long)).toEqual(['journal_unavailable']);
    expect(await reserve(page, 'full', 2, 40_000)).toEqual(['reserved', 'full']);
    await close();
  });

  it('leaves no connection open if its name cannot be kept', async () => {
    const tab = await opened.openTab();
    const open = await tab.evaluate(async () => {
      const connections = new Set<IDBDatabase>();
      const { transaction, close } = IDBDatabase.prototype;
      IDBDatabase.prototype.transaction = function (...args) {
        connections.add(this);
        return Reflect.apply(transaction, this, args);
      };
      IDBDatabase.prototype.close = function () {
        connections.delete(this);
        close.call(this);
      };
      // The storage of the origin is full.
      Storage.prototype.setItem = () => {
        throw new DOMException('full', 'QuotaExceededError');
      };
      const journal = journalPage.indexedDbJournal('name not kept');
      const failed = await journal.reserve(journalPage.attemptOf(), []).catch((error: unknown) => ({
        ...(error as { code: string }),
      }));
      return { code: (failed as { code: string }).code, open: connections.size };
    });
    expect(open).toEqual({ code: 'journal_unavailable', open: 0 });
    await tab.close();
  });

  it('keeps no lock whose write is on the disk but failed for the page', async () => {
    const second = await opened.openTab();
    const hold = (tab: Page, fails: boolean) =>
      tab.evaluate(async (fails) => {
        const owner = { wallet: 'wallet', network: 'network' };
        const { locks, next } = journalPage.indexedDbJournal('lost answer').coordination(owner);
        await next('opened');
        const { transaction } = IDBDatabase.prototype;
        if (fails)
          IDBDatabase.prototype.transaction = function (...args) {
            IDBDatabase.prototype.transaction = transaction;
            const lost = Reflect.apply(transaction, this, args);
            // The storage's process ends after the commit, and before it says so.
            lost.addEventListener('complete', (event) => {
              event.stopImmediatePropagation();
              lost.dispatchEvent(new Event('abort'));
            });
            return lost;
          };
        return locks
          .hold(['mint'], async () => 'held')
          .catch((error: unknown) => (error as { code: string }).code);
      }, fails);
    expect(await hold(opened.page, true)).toBe('journal_unavailable');
    expect(await hold(second, false)).toBe('held');
    await second.close();
  });

  it('keeps new claims after it lost its Web Lock, as pages do in the cache of WebKit', async () => {
    const second = await opened.openTab();
    const claim = (tab: Page, id: string) =>
      tab.evaluate(async (id) => {
        const shared = globalThis as { claims?: Claims };
        const journal = journalPage.indexedDbJournal('lost lock');
        shared.claims ??= journal.coordination({ wallet: 'wallet', network: 'network' }).claims;
        await shared.claims.take([id]);
        return (await navigator.locks.query()).held?.map(({ name = '' }) => name) ?? [];
      }, id);
    const [lock = ''] = (await claim(opened.page, 'before')).filter((name) =>
      /lost lock/.test(name),
    );
    await second.evaluate(
      (lock) => navigator.locks.request(lock, { steal: true }, () => undefined),
      lock,
    );
    await until('the first tab holds its lock again', async () =>
      (await claim(opened.page, 'after')).includes(lock) ? true : undefined,
    );
    await claim(second, 'other');
    const live = await second.evaluate(async () => {
      const { claims } = globalThis as { claims?: Claims };
      return [...((await claims?.live(['before', 'after'])) ?? [])];
    });
    expect(live).toContain('after');
    await second.close();
  });

  it.each([
    // WebKit would keep the transaction of a page in its cache open.
    ['ends its transaction when the page is cached', true, 'journal_unavailable', 2],
    ['completes its transaction when the page is left for good', false, 'reserved', 3],
  ] as const)('%s', async (name, persisted, hidden, count) => {
    const codes = await opened.page.evaluate(
      async ([name, persisted]) => {
        const journal = journalPage.indexedDbJournal(name);
        const codeOf = () =>
          journal.reserve(journalPage.attemptOf(), []).then(
            () => 'reserved',
            (error: unknown) => (error as { code: string }).code,
          );
        const first = await codeOf();
        const { transaction } = IDBDatabase.prototype;
        IDBDatabase.prototype.transaction = function (...args) {
          IDBDatabase.prototype.transaction = transaction;
          queueMicrotask(() => dispatchEvent(new PageTransitionEvent('pagehide', { persisted })));
          return Reflect.apply(transaction, this, args);
        };
        const hidden = await codeOf();
        const back = await codeOf();
        const owner = { wallet: 'wallet', network: 'network' };
        return [first, hidden, back, (await journalPage.idsOf(journal.attempts(owner))).length];
      },
      [name, persisted] as const,
    );
    expect(codes).toEqual(['reserved', hidden, 'reserved', count]);
  });

  it('refuses every use on an origin without Web Locks', async () => {
    const tab = await opened.openTab();
    const script = await (await fetch(`${tab.url()}page.js`)).text();
    await tab.route('http://insecure.test/**', (route) =>
      route.request().url().endsWith('.js')
        ? route.fulfill({ contentType: 'text/javascript', body: script })
        : route.fulfill({
            contentType: 'text/html',
            body: '<!doctype html><script type="module" src="/page.js"></script>',
          }),
    );
    await tab.goto('http://insecure.test/');
    expect(await tab.evaluate(() => isSecureContext)).toBe(false);
    expect(await reserve(tab, 'insecure')).toEqual(['journal_unavailable']);
    await tab.close();
  });

  it('prints nothing to the console', () => {
    expect(opened.printed).toEqual([]);
  });
});
