import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launch, openPage } from './harness.js';

let browser: Browser;

beforeAll(async () => {
  browser = await launch();
});

afterAll(() => browser.close());

describe('indexedDbJournal in Chromium', () => {
  it.each([
    ['journal', 100],
    ['coordination', 15],
  ] as const)('keeps the contract: %s', async (suite, tests) => {
    const { page, close } = await openPage(browser, 'journal-contract.page.ts');
    const ran = await page.evaluate((name) => runSuite(name), suite);
    expect(ran.filter(({ state }) => state !== 'pass')).toEqual([]);
    expect(ran.length).toBeGreaterThan(tests);
    await close();
  });
});
