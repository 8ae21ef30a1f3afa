import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { source } from 'axe-core';
import { serve } from 'exact-change/node';
import type { WebhookDelivery } from 'exact-change/webhooks';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { readAssets } from '../../adapters/cli/ui/assets.js';
import { createChanges } from '../../adapters/cli/ui/changes.js';
import { createDashboard } from '../../adapters/cli/ui/dashboard.js';
import { createJournalView } from '../../adapters/cli/ui/journal-view.js';
import { createSessions } from '../../adapters/cli/ui/sessions.js';
import { fullAttemptOf, signedSwapOf } from '../helpers/attempts.js';
import { useCommand, type Running } from '../helpers/command.js';
import { rawRequest } from '../helpers/raw.js';
import { MAINNET_SLOT_MS, useSandbox } from '../helpers/sandbox.js';
import { launch } from './harness.js';

const installed = join(inject('packed').consumer, 'node_modules');
const sandbox = await useSandbox({ confirmationMs: 20, slotMs: MAINNET_SLOT_MS });
const command = useCommand(sandbox, join(installed, '.bin/exact-change'));
const { secretKey } = await sandbox.createWallet({ SOL: '0.5' });
command.env['WALLET_SECRET_KEY'] = secretKey;

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

/** Requests of the page to other origins, and its console output. */
const seen: string[] = [];

async function open(url: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const { origin } = new URL(url);
  page.on('console', (message) => seen.push(message.text()));
  page.on('pageerror', (error) => seen.push(String(error)));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin && !request.url().startsWith('data:'))
      seen.push(request.url());
  });
  await page.goto(url);
  return page;
}

async function violations(page: Page): Promise<unknown> {
  await page.evaluate(source);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    return (await axe.run()).violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
  });
}

interface Served {
  readonly run: Running;
  readonly url: string;
  readonly page: string;
  readonly key: string;
}

async function served(): Promise<Served> {
  const run = command.start(['serve', '--ui', '--port', '0']);
  const text = await run.printed(/Open the page.*#\S+/);
  const [, url = '', file = '', page = ''] =
    /(http:\S+)\n[^]*key in (\S+) as[^]* (http:\S+#\S+)/.exec(text) ?? [];
  return { run, url, page, key: readFileSync(file, 'utf8').trim() };
}

const buy = (path: string) =>
  command.run(['fetch', '-ys', '--max', '0.5', `${sandbox.apiUrl}${path}`]);

describe('the dashboard of a service', () => {
  it('shows live payments, works by keyboard, and passes axe-core', async () => {
    expect(await buy('/usdc')).toMatchObject({ code: 0 });
    const { run, url, page: link, key } = await served();
    const page = await open(link, { colorScheme: 'light' });
    const receipts = page.locator('#receipts tbody tr:not(.details)');
    await receipts.first().waitFor();
    expect(page.url()).toBe(`${url}/ui/`);
    expect(await page.evaluate(() => document.cookie)).toBe('');
    expect(await page.locator('#swaps tbody tr').count()).toBe(1);
    const cap = page.getByRole('img', { name: /^Dollars in 24 hours: \$0\.\d+ of \$10\.00: pay/ });
    expect(await cap.count()).toBe(1);
    expect(await violations(page)).toEqual([]);

    const registered = await fetch(`${url}/api/webhooks`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: '{"url":"https://hooks.example.com/token","events":["swap.failed"]}',
    });
    expect(registered.ok).toBe(true);
    expect(await buy('/usdc')).toMatchObject({ code: 0 });
    await page.getByText('1 to 2 of 2').waitFor();
    await page.getByText('up to date').waitFor();
    expect(await page.locator('#endpoints').textContent()).not.toContain('token');

    const button = receipts.first().getByRole('button');
    await page.locator('#state').focus();
    await page.keyboard.press('Tab');
    const id = await page.evaluate(() => document.activeElement?.id);
    expect(await button.getAttribute('id')).toBe(id);
    await page.keyboard.press('Enter');
    expect(await button.getAttribute('aria-expanded')).toBe('true');
    const shown = page.getByText('See the payment on chain');
    await shown.filter({ visible: true }).waitFor();
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await violations(page)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await violations(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(
      true,
    );
    // The link works once; a reload keeps the session.
    await page.reload();
    await receipts.first().waitFor();
    const second = await open(link);
    await second.getByLabel('Key of the service').fill(key);
    expect(await violations(second)).toEqual([]);
    await second.keyboard.press('Enter');
    await second.locator('#receipts tbody tr').first().waitFor();
    run.child.kill('SIGINT');
    expect((await run.ended).code).toBe(0);
    await second.getByText('cannot be reached').waitFor();
    expect(
      seen.filter((text) => !/401|Failed to load|INCOMPLETE_CHUNKED|REFUSED/.test(text)),
    ).toEqual([]);
  });

  it('opens a link in a tab that shows the page already, and keeps no code of it', async () => {
    const first = await served();
    const page = await open(`${first.url}/ui/`);
    await page.getByLabel('Key of the service').waitFor();
    // The browser changes only the part after #, and loads nothing.
    await page.goto(first.page);
    await page.locator('#board').waitFor();
    expect(page.url()).toBe(`${first.url}/ui/`);
    first.run.child.kill('SIGINT');
    await first.run.ended;
  });

  it('refuses other hosts, origins and callers, and every write', async () => {
    const { url, page: link, key } = await served();
    const [, code = ''] = link.split('#');
    const host = 'evil.example';
    const statusOf = async (path: string, headers: Record<string, string> = {}, method = 'GET') =>
      (await fetch(`${url}/ui/${path}`, { method, headers })).status;
    const known = { 'x-api-key': key };
    for (const path of ['overview', 'receipts', 'changes']) {
      expect(await statusOf(path)).toBe(401);
      expect(await statusOf(path, { authorization: `Bearer ${code}` })).toBe(401);
      expect(await statusOf(path, { ...known, 'sec-fetch-site': 'same-site' })).toBe(403);
      expect(await statusOf(path, known, 'POST')).toBe(405);
    }
    expect(await statusOf('session', {}, 'POST')).toBe(401);
    // DNS rebinding: an attacker's name that points at this machine.
    for (const path of ['/ui/', '/ui/overview'])
      expect(await rawRequest(`${url}${path}`, { headers: { ...known, host } })).toMatchObject({
        status: 404,
      });
    const redeem = { authorization: `Bearer ${code}` };
    expect([
      await statusOf('session', redeem, 'POST'),
      await statusOf('session', redeem, 'POST'),
    ]).toEqual([200, 401]);

    // A page on another port of this machine, which counts as the same site.
    const evil = await open(`${sandbox.apiUrl}/free`);
    const got = await evil.evaluate(
      async ([place = '', secret = '']) => {
        const reads = [{ headers: { 'x-api-key': secret } }, {}].map((init) =>
          fetch(`${place}/ui/overview`, init).then(
            () => 'read',
            () => 'refused',
          ),
        );
        const frame = document.createElement('iframe');
        frame.src = `${place}/ui/`;
        document.body.append(frame);
        await new Promise((resolve) => frame.addEventListener('load', resolve));
        return Promise.all(reads);
      },
      [url, key],
    );
    expect(got).toEqual(['refused', 'refused']);
    const framed = evil.frames().find((frame) => frame !== evil.mainFrame());
    expect(framed?.url()).not.toContain(url);
  });

  it('is refused on an address that other machines can reach', async () => {
    const ended = await command.run(['serve', '--ui', '--hostname', '0.0.0.0']);
    expect(ended).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('127.0.0.1 with --ui'),
    });
  });
});

/** Hostile text of a seller, put into every text field. */
const EVIL = '"><img src=x onerror="document.title=1"><script>document.title=2</script>';
const MANY = 50_000;

describe('the dashboard of a large and hostile journal', () => {
  it('pages and searches 50,000 receipts, and shows hostile seller text as text', async () => {
    const [now, network] = [Date.now(), 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'];
    const base = fullAttemptOf();
    const attempt = (index: number) => {
      const url = `https://host-${index % 40}.example.com/${index === MANY - 1 ? EVIL : index}`;
      const [id, at] = [`id-${index}`, now - (MANY - index) * 1_000];
      const { receipt = base.receipt! } = base;
      const [symbol, method] = index === MANY - 1 ? [EVIL, EVIL] : ['USDC', 'GET'];
      const payment = { ...receipt.payment, network, uiAmount: '0.01', symbol };
      const settlement = { success: true, transaction: EVIL, network };
      const swap = signedSwapOf({ provider: EVIL });
      return {
        ...{
          ...base,
          id,
          url,
          at,
          network,
          ...(index > MANY - 5 ? { swap } : { swap: undefined }),
        },
        receipt: {
          ...receipt,
          id,
          url,
          at,
          method,
          payment,
          settlement,
          cost: { ...receipt.cost, usd: '0.01' },
        },
      };
    };
    const journal = {
      async *attempts() {
        for (let index = 0; index < MANY; index += 1) yield attempt(index) as typeof base;
      },
    };
    const delivery: WebhookDelivery = {
      ...{ event: 'payment.settled', eventId: 'e', endpoint: EVIL, at: now, ms: 3 },
      ...{ delivered: false, status: 503, failures: 1, nextAt: now + 5_000 },
    };
    const stamp = async () => 'unchanged';
    const sessions = createSessions(Date.now);
    const handle = createDashboard({
      assets: await readAssets(
        pathToFileURL(join(installed, 'exact-change/dist/adapters/cli/ui/')),
      ),
      view: createJournalView(journal, stamp, Date.now),
      ...{ sessions, changes: createChanges(stamp), own: undefined },
      authorize: () => false,
      more: async () => ({ caps: [], endpoints: [], deliveries: [delivery] }),
      onError: (error) => {
        throw error;
      },
    });
    const service = await serve(async (request) => handle(request) ?? new Response(), { port: 0 });
    onTestFinished(() => service.close({ graceMs: 0 }));

    const page = await open(`${service.url}/ui/#${sessions.newCode()}`);
    await page.getByText('1 to 50 of 50,000').waitFor();
    const turn = async (name: string, range: string) => {
      await page.getByRole('button', { name, exact: true }).click();
      await page.getByText(range).waitFor();
    };
    await turn('Older', '51 to 100 of 50,000');
    await turn('Oldest', '49,951 to 50,000 of 50,000');
    await turn('Newest', '1 to 50 of 50,000');
    const first = page.locator('#receipts tbody tr').first();
    expect(await first.textContent()).toContain('onerror');
    await first.getByRole('button').click();
    expect(await page.locator('#receipts .details').first().textContent()).toContain(EVIL);
    expect(await page.locator('#swaps').textContent()).toContain(EVIL);
    expect(await page.locator('#deliveries').textContent()).toContain(EVIL);
    await page.getByText(/^answer 503, try 2; again /).waitFor();
    expect(await page.locator('img, body script').count()).toBe(0);
    expect(await page.title()).toBe('Exact Change');
    await page.getByLabel('Address, payee or transaction').fill('HOST-1.example.com/4321');
    await page.getByText('1 to 1 of 1', { exact: true }).waitFor();
    // The page holds only the rows that it shows.
    expect(await page.locator('*').count()).toBeLessThan(6_000);
  });
});
