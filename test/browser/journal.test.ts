import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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

/** Reserves so many payments of 0.01 USD at once: what it comes to, each distinct outcome once. */
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
  ] as const)('keeps the contract: %s', async (suite, tests) => {
    const ran = await opened.page.evaluate((name) => runSuite(name), suite);
    expect(ran.filter(({ state }) => state !== 'pass')).toEqual([]);
    expect(ran.length).toBeGreaterThan(tests);
  });

  it('reserves as much as a cap has room for when two tabs write at once', async () => {
    const tabs = [opened.page, await opened.openTab()];
    const results = await Promise.all(tabs.map((tab) => reserve(tab, 'caps', 100, 505_000)));
    const reserved = results.flat().filter((result) => result === 'reserved');
    expect(reserved).toHaveLength(50);
    expect(new Set(results.flat())).toEqual(new Set(['reserved', 'full']));
    await tabs[1]?.close();
  });

  it('is written anew under two tabs that use it, and both go on with the same', async () => {
    const second = await opened.openTab();
    const tabs = [opened.page, second];
    for (const tab of tabs)
      await tab.evaluate(async () => {
        const { attemptOf, fullAttemptOf, indexedDbJournal } = journalPage;
        const journal = indexedDbJournal('anew');
        Object.assign(globalThis, { journal });
        // What came while the tab was closed, and what comes while it is open.
        for (let turn = 0; turn < 12; turn += 1) {
          const many = Array.from({ length: 25 }, () =>
            attemptOf({ idempotencyKey: crypto.randomUUID() }),
          );
          await Promise.all(many.map((one) => journal.reserve(one, [])));
          const full = many.map((one) => ({
            ...fullAttemptOf(),
            ...one,
            state: 'signed' as const,
          }));
          await Promise.all(full.map((one) => journal.put(one)));
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

  it('refuses to begin anew if the browser has removed it, in a tab that has it open and after a reload', async () => {
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

  it('refuses what its storage has no room for, and goes on with all that it had', async () => {
    // Of an origin that has stored something before, Chromium knows for a while what room it has.
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

  it('refuses to be used on an origin without Web Locks', async () => {
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

  it('prints nothing', () => {
    expect(opened.printed).toEqual([]);
  });
});
