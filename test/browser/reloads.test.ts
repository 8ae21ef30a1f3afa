import { address } from '@solana/kit';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../helpers/chain.js';
import { MAINNET_SLOT_MS } from '../helpers/sandbox.js';
import { launch, openPage, type BrowserPage } from './harness.js';

/** How often a tab is cut off; set `RELOADS=100` for more rounds. */
const ROUNDS = Number(process.env['RELOADS'] ?? 6);
const PRICE = 10_000n;
const seed = Array.from({ length: 32 }, (_, index) => 2 * index + 1);

let sandbox: Sandbox;
let browser: Browser;
let opened: BrowserPage;

beforeAll(async () => {
  sandbox = await createSandbox({ slotMs: MAINNET_SLOT_MS, confirmationMs: 0 });
  browser = await launch();
  opened = await openPage(browser, 'reloads.page.ts');
});

afterAll(async () => {
  await opened.close();
  await browser.close();
  await sandbox.close();
});

/** Ways to cut off a tab during a payment; each returns the tab that replaces it. */
const CUTS: Readonly<Record<string, (tab: Page) => Promise<Page>>> = {
  async reload(tab) {
    await tab.reload();
    return tab;
  },
  async close(tab) {
    await tab.close();
    return opened.openTab();
  },
  async crash(tab) {
    const devtools = await tab.context().newCDPSession(tab);
    const crashed = tab.waitForEvent('crash');
    // A crashed page never answers this command.
    devtools.send('Page.crash').catch(() => undefined);
    await crashed;
    await tab.close();
    return opened.openTab();
  },
};

/** Opens the tab's client, and returns its address. */
function start(tab: Page): Promise<string> {
  const { rpcUrl, wsUrl, jupiterUrl } = sandbox;
  return tab.evaluate(([seed, options]) => buyer.open(seed, options), [
    seed,
    { rpcUrl, wsUrl, jupiterUrl },
  ] as const);
}

const buy = (tab: Page, key: string) =>
  tab.evaluate(([url, key]) => buyer.buy(url, key), [
    `${sandbox.apiUrl}/usdc?${key}`,
    key,
  ] as const);

const earned = () => sandbox.balance(sandbox.merchant, 'USDC');

describe('two tabs that make the same purchase', () => {
  it(
    `pay once per purchase when a tab reloads, closes or crashes, ${ROUNDS} times`,
    { timeout: 600_000 },
    async () => {
      const tabs = [opened.page, await opened.openTab()];
      const [wallet = ''] = await Promise.all(tabs.map(start));
      sandbox.chain.fundSol(address(wallet), 500_000_000n);
      await sandbox.chain.fundToken(address(wallet), sandbox.mints.BONK, 500_000_000_000n);
      // Measure the usual time of a purchase; one in five needs a swap.
      await buy(tabs[0]!, 'cold');
      const before = await earned();
      const began = performance.now();
      for (let time = 0; time < 5; time += 1) await buy(tabs[time % 2]!, `warm${time}`);
      const usual = (performance.now() - began) / 5;

      const results: unknown[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const key = `round${round}`;
        const cut = Object.keys(CUTS)[round % 3]!;
        const bought = tabs.map((tab) => buy(tab, key).catch((error: unknown) => String(error)));
        const moment = Math.random() * usual;
        await new Promise((resolve) => setTimeout(resolve, moment));
        tabs[0] = await CUTS[cut]!(tabs[0]!);
        await start(tabs[0]);
        const answers = [await buy(tabs[0], key), await bought[1]];
        const paid = (await earned()) - before - BigInt(round + 5) * PRICE;
        results.push({ key, cut, moment, answers, first: await bought[0], paid });
        tabs.reverse();
      }
      const isGood = ({ answers, paid }: { answers: unknown[]; paid: bigint }) =>
        paid === PRICE && answers.every((answer) => answer === 200 || answer === 'already_spent');
      expect(
        results.filter((result) => !isGood(result as { answers: unknown[]; paid: bigint })),
      ).toEqual([]);
      await until('the chain has decided every payment', async () =>
        (await tabs[0]!.evaluate(() => buyer.undecided())) === 0 ? true : undefined,
      );
      expect((await earned()) - before).toBe(BigInt(ROUNDS + 5) * PRICE);
    },
  );
});
