import { fileURLToPath } from 'node:url';
import type { Sandbox } from 'exact-change-sandbox';
import { build, preview } from 'vite';
import type { Settings } from './wallets.js';

const root = fileURLToPath(new URL('.', import.meta.url));
const outDir = fileURLToPath(
  new URL('../../node_modules/.cache/exact-change/page', import.meta.url),
);

/** Makes the settings of a page on a sandbox, with a new wallet's key. */
export async function settingsFor(sandbox: Sandbox): Promise<Settings> {
  const { rpcUrl, wsUrl, jupiterUrl, apiUrl, routes } = sandbox;
  const { secretKey } = await sandbox.createWallet({ SOL: '0.2', BONK: '500000' });
  const samples = routes
    .filter(({ path }) => ['/usdc', '/pyusd', '/any'].includes(path))
    .map(({ path, description }) => ({ url: `${apiUrl}${path}`, description }));
  return { rpcUrl, wsUrl, jupiterUrl, sandboxKey: secretKey, samples };
}

/** Builds the page, and serves it on 127.0.0.1. */
export async function servePage(
  settings: Settings,
  port = 0,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const shared = { root, configFile: false, logLevel: 'warn' } as const;
  await build({
    ...shared,
    // In this repository, the package name resolves to the sources.
    resolve: { tsconfigPaths: true },
    build: { outDir, emptyOutDir: true, target: 'es2022', chunkSizeWarningLimit: 1_000 },
  });
  const server = await preview({
    ...shared,
    build: { outDir },
    preview: { host: '127.0.0.1', port, strictPort: port !== 0 },
    plugins: [
      {
        name: 'settings',
        configurePreviewServer({ middlewares }) {
          middlewares.use('/settings.json', (_, response) => {
            response.setHeader('content-type', 'application/json').end(JSON.stringify(settings));
          });
        },
      },
    ],
  });
  const [url = ''] = server.resolvedUrls?.local ?? [];
  return { url, close: () => server.close() };
}
