import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { chromium, type Browser, type Page } from 'playwright-core';
import { inject } from 'vitest';
import { findChromium, FLAGS, MISSING } from '../../scripts/chromium.js';

/** For a hang alone: on a busy machine a page may take minutes. */
const PATIENCE_MS = 200_000;

/** A page in Chromium on its own origin at 127.0.0.1, after its script ran. */
export interface BrowserPage {
  readonly page: Page;
  /** Opens the same page in another tab of the same browser session. */
  openTab(): Promise<Page>;
  /** Console output and errors of the page. */
  readonly printed: readonly string[];
  close(): Promise<void>;
}

/** Opens an empty page, and runs a script of this folder in it. */
export async function openPage(browser: Browser, name = 'page.ts'): Promise<BrowserPage> {
  const script = await bundle(name);
  const server = createServer((request, response) => {
    const [type, body] =
      request.url === '/page.js'
        ? ['text/javascript', script]
        : ['text/html', '<!doctype html><script type="module" src="/page.js"></script>'];
    response
      .writeHead(request.url === '/favicon.ico' ? 204 : 200, {
        'content-type': `${type}; charset=utf-8`,
      })
      .end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');

  const context = await browser.newContext();
  const printed: string[] = [];
  const openTab = async (): Promise<Page> => {
    const page = await context.newPage();
    page.on('console', (message) => printed.push(message.text()));
    page.on('pageerror', (error) => printed.push(String(error)));
    await page.goto(`http://127.0.0.1:${address.port}/`, { waitUntil: 'load' });
    return page;
  };
  return {
    page: await openTab(),
    openTab,
    printed,
    close: async () => {
      await context.close();
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
    },
  };
}

export async function launch(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error(MISSING);
  const browser = await chromium.launch({ executablePath, args: FLAGS });
  browser.on('context', (context) => context.setDefaultTimeout(PATIENCE_MS));
  return browser;
}

/** Bundles a script for browsers with the packed package. */
export async function bundle(name: string): Promise<string> {
  const { consumer, doors } = inject('packed');
  const library = join(consumer, 'node_modules/exact-change');
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(name, import.meta.url))],
    alias: {
      'node:crypto': fileURLToPath(new URL('random-uuid.ts', import.meta.url)),
      'exact-change/journal/indexeddb': join(library, 'dist/adapters/journals/indexeddb.js'),
      'exact-change/wallet-standard': join(library, 'dist/adapters/signers/wallet-standard.js'),
      'exact-change': library,
    },
    nodePaths: [join(doors, 'node_modules')],
    // Ignore the paths of our tsconfig, which lead to the source.
    tsconfigRaw: {},
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2021',
    write: false,
    logLevel: 'silent',
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error('esbuild gave no bundle.');
  return file.text;
}
