import { address } from '@solana/kit';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import { source } from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { servePage, settingsFor } from '../../examples/browser/serve.js';
import { envelopeV2 } from '../fixtures/malformed-402.js';
import { startRelay } from '../helpers/relay.js';
import { MAINNET_SLOT_MS } from '../helpers/sandbox.js';
import { startSeller } from '../helpers/seller.js';
import { answer, offerOf } from '../helpers/settling.js';
import { bundle, launch } from './harness.js';
import type { testWallet } from './test-wallet.js';

declare global {
  /** The wallet that `example-wallet.mjs` puts into the page. */
  var walletOfTest: Awaited<ReturnType<typeof testWallet>>;
}

let sandbox: Sandbox;
let browser: Browser;
let served: Awaited<ReturnType<typeof servePage>>;

beforeAll(async () => {
  sandbox = await createSandbox({ slotMs: MAINNET_SLOT_MS, confirmationMs: 0 });
  [browser, served] = await Promise.all([launch(), settingsFor(sandbox).then(servePage)]);
});

afterAll(async () => {
  await browser.close();
  await served.close();
  await sandbox.close();
});

/** Opens the page in a new browser session. */
async function openExample(options: BrowserContextOptions = {}, script = ''): Promise<Page> {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  await context.addInitScript({ content: script });
  // Firefox asks the user whether to keep the storage, and this user never answers.
  await context.addInitScript(() => {
    StorageManager.prototype.persist = () => new Promise(() => undefined);
  });
  const page = await context.newPage();
  await page.goto(served.url);
  return page;
}

const earned = () => sandbox.balance(sandbox.merchant, 'USDC');

/** Returns the violations that axe-core finds in the page. */
async function violations(page: Page): Promise<unknown> {
  await page.evaluate(source);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    const { violations } = await axe.run();
    return violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => html) }));
  });
}

/** Presses Tab until the button has the focus, and then Enter. */
async function press(page: Page, name: string | RegExp): Promise<void> {
  const button = page.getByRole('button', { name, exact: true });
  await button.waitFor();
  for (let step = 0; step < 20; step += 1) {
    await page.keyboard.press('Tab');
    if (await button.evaluate((element) => element === document.activeElement)) break;
  }
  expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
  await page.keyboard.press('Enter');
}

describe('the example page', () => {
  it.each<[string, BrowserContextOptions]>([
    ['a light screen', { colorScheme: 'light' }],
    ['a dark screen', { colorScheme: 'dark' }],
    ['a phone', { viewport: { width: 360, height: 740 } }],
  ])('buys once by keyboard, shows the receipt, and passes axe-core on %s', async (_, options) => {
    const before = await earned();
    const page = await openExample(options);
    expect(await violations(page)).toEqual([]);
    await press(page, 'Sandbox key');
    await page.getByRole('heading', { name: /^Wallet / }).waitFor();
    await press(page, 'One cent in USDC');
    const plan = page.getByRole('heading', { name: /^0\.01 USDC to 127\.0\.0\.1/ });
    await plan.waitFor();
    expect(await plan.evaluate((element) => element === document.activeElement)).toBe(true);
    expect(await page.getByText('In all, at most').isVisible()).toBe(true);
    expect(await violations(page)).toEqual([]);
    expect((await earned()) - before).toBe(0n);
    await press(page, 'Pay 0.01 USDC');
    await page.getByText('The chain shows the payment.').waitFor();
    await page.locator('.receipts .settled').waitFor();
    expect(await page.locator('#answer').textContent()).toContain('"ok":true');
    expect(await page.locator('.receipts > li').count()).toBe(1);
    expect(await page.getByRole('img', { name: /^Dollars in a day: \$0\.\d+ of/ }).count()).toBe(1);
    expect(await violations(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(
      true,
    );
    expect((await earned()) - before).toBe(10_000n);
  });

  it('pays with a browser wallet after a link and a QR code asked for funds', async () => {
    const page = await openExample({}, await bundle('example-wallet.mjs'));
    await page.getByRole('button', { name: 'Wallet of a test' }).click();
    await page.getByText('It is empty.').waitFor();
    const owner = await page.evaluate(() => walletOfTest.accounts[0]?.address ?? '');
    // The page offers the missing funds as a link and as a QR code.
    await page.getByRole('button', { name: 'One cent in USDC' }).click();
    await page.getByRole('img', { name: /QR code/ }).waitFor();
    const link = page.getByRole('link', { name: 'Open a wallet app that sends it' });
    expect(await link.getAttribute('href')).toMatch(`solana:${owner}?amount=0.01&spl-token=`);
    expect(await violations(page)).toEqual([]);
    sandbox.chain.fundSol(address(owner), 200_000_000n);
    const before = await earned();
    await page.getByRole('button', { name: 'One cent in USDC' }).click();
    await page.getByRole('button', { name: /^Pay / }).click();
    await page.locator('.receipts .settled').waitFor();
    expect((await earned()) - before).toBe(10_000n);
  });

  it('resumes a purchase that a reload cut off, and pays once', async () => {
    const api = await startRelay(sandbox.apiUrl);
    onTestFinished(() => api.close());
    // Not the probe, whose header is empty.
    const paid = api.hold(({ headers }) => Boolean(headers['payment-signature']));
    const before = await earned();
    const page = await openExample();
    await page.getByRole('button', { name: 'Sandbox key' }).click();
    await page.getByRole('heading', { name: /^Wallet / }).waitFor();
    await page.getByLabel('Address of what is sold').fill(`${api.url}/usdc`);
    await page.getByRole('button', { name: 'Show the price' }).click();
    await page.getByRole('button', { name: /^Pay / }).click();
    await page.getByText('The request is sent again, with the payment.').waitFor();
    await paid.asked;
    await page.reload();
    await paid.release();
    // The seller answers the same payment again, or reports that it was served.
    const bought = page.locator('#status').getByText('Bought.');
    await bought.or(page.getByRole('alert').getByText('It was paid.')).waitFor();
    expect(await page.locator('.receipts > li').count()).toBe(1);
    expect((await earned()) - before).toBe(10_000n);
    await page.reload();
    await page.locator('.receipts .settled').waitFor();
    expect((await earned()) - before).toBe(10_000n);
  });

  it('shows hostile seller text as text, and forbids HTML from strings', async () => {
    const evil = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
    const seller = await startSeller((_, response) => {
      response.setHeader('access-control-allow-origin', '*');
      response.setHeader('access-control-expose-headers', 'PAYMENT-REQUIRED');
      const terms = envelopeV2([{ ...offerOf(sandbox), scheme: evil }]);
      const header = Buffer.from(JSON.stringify(terms)).toString('base64');
      answer(response, 402, { error: evil }, { 'payment-required': header });
    });
    onTestFinished(() => seller.close());
    const page = await openExample();
    await page.getByRole('button', { name: 'Sandbox key' }).click();
    await page.getByRole('heading', { name: /^Wallet / }).waitFor();
    await page.getByLabel('Address of what is sold').fill(`${seller.url}/${encodeURI(evil)}`);
    await page.getByRole('button', { name: 'Show the price' }).click();
    await page.getByRole('alert').getByText('Nothing has left the wallet.').waitFor();
    expect(await page.locator('img, main script').count()).toBe(0);
    expect(await page.title()).toBe('Exact Change: a page that pays');
    // Trusted Types refuse the text even if the page puts it into innerHTML.
    const refused = await page.evaluate((html) => {
      try {
        document.body.innerHTML = html;
        return 'taken';
      } catch (error) {
        return (error as Error).name;
      }
    }, evil);
    expect(refused).toBe('TypeError');
  });
});
