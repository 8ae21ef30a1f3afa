import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { SITE } from '../../scripts/docs-site/gather.js';
import { PLACE, recordPayment, shapeOf } from '../../scripts/docs-site/record.js';
import { launch } from './harness.js';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
};

let browser: Browser;
// The build checks its links, and fails on a broken link.
beforeAll(async () => {
  [browser] = await Promise.all([launch(), promisify(execFile)('npm', ['run', 'docs:site'])]);
}, 300_000);
afterAll(() => browser.close());

/** Serves the built files, and returns the URL. */
async function served(): Promise<string> {
  const server = createServer(({ url = '/' }, response) => {
    const { pathname } = new URL(url, 'http://site');
    const name = pathname.endsWith('/') ? `${pathname}index.html` : pathname;
    try {
      const body = readFileSync(join(SITE, '.vitepress/dist', decodeURIComponent(name)));
      response.setHeader('content-type', TYPES[extname(name)] ?? 'application/octet-stream');
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  const address = server.address();
  return typeof address === 'object' && address !== null ? `http://127.0.0.1:${address.port}` : '';
}

/** Waits until Vue has taken over a page that is shown already, and answers to keys and clicks. */
const live = (page: Page) =>
  page.waitForFunction(() => {
    const app = document.querySelector('#app');
    return app !== null && '__vue_app__' in app;
  });

describe('the documentation site', () => {
  it('steps through the recorded payment, searches, and requests no other origin', async () => {
    const url = await served();
    const context = await browser.newContext({ colorScheme: 'dark' });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    const problems: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(url) && !request.url().startsWith('data:'))
        problems.push(request.url());
    });
    page.on('response', (response) => {
      if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
    });
    page.on('pageerror', (error) => problems.push(String(error)));

    await page.goto(`${url}/how-a-payment-works.html`);
    expect(await page.locator('html').getAttribute('class')).toContain('dark');
    const steps = page.getByRole('region', { name: 'Steps of a payment' });
    await steps.getByText('Step 1 of').waitFor();
    await live(page);
    const seen: string[] = [];
    for (let step = 0; step < 11; step += 1) {
      seen.push((await steps.locator('strong').textContent()) ?? '');
      await steps.press('ArrowRight');
    }
    expect(
      seen.filter((title) => /^(swap|payment)\.(signed|confirmed|settled)$/.test(title)),
    ).toEqual(['swap.signed', 'swap.confirmed', 'payment.signed', 'payment.settled']);

    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('searchbox').fill('maxPerDay');
    await page.locator('#localsearch-list a').first().waitFor();
    await page.keyboard.press('Escape');
    await page.goto(`${url}/examples/index.html`);
    await live(page);
    await page.getByRole('link', { name: 'service.ts', exact: true }).click();
    await page.getByRole('heading', { name: 'examples/service.ts' }).waitFor();
    expect(problems).toEqual([]);
  });

  it('has a recording in the shape of a new payment (npm run docs:record)', async () => {
    const recorded: unknown = JSON.parse(readFileSync(PLACE, 'utf8'));
    expect(shapeOf(recorded)).toEqual(shapeOf(await recordPayment()));
  });
});
