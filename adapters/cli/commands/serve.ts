import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { local } from 'exact-change';
import { isLoopback } from '../../../src/internal/origin.js';
import { refuse } from '../../../src/internal/options.js';
import { apiKeys, createHandler, createMetrics } from 'exact-change/http';
import { fileJournal } from 'exact-change/journal/file';
import { serve } from 'exact-change/node';
import { createWebhooks } from 'exact-change/webhooks';
import { hasCode } from '../../../src/internal/error-code.js';
import { makeFolderOf, stateFolder } from '../paths.js';
import { openWallet } from '../wallet.js';
import type { Command } from '../report.js';
import { nodeOptions, readSettings, type Settings } from '../settings.js';
import type { Terminal } from '../terminal.js';
import { writeNewFile } from '../wallet-file.js';
import { cleanLine, jsonText } from '../clean.js';

export interface ServeFlags {
  readonly port: number;
  readonly hostname?: string;
  readonly ui?: boolean;
}

/**
 * Runs the REST service with webhooks, on the journal of all commands, until Ctrl-C. The service
 * holds no key. With `--ui` it also serves a page, only on this machine, because its connections
 * are not encrypted.
 */
export const serveCommand: Command<ServeFlags> = async ({ terminal, flags }) => {
  const { hostname } = flags;
  if (flags.ui === true && hostname !== undefined && !isLoopback(hostname))
    throw refuse('--hostname', 'must be 127.0.0.1 with --ui. Reach it from elsewhere over SSH.');
  const settings = readSettings(flags, terminal.env);
  const { key, source } = await serviceKey(settings, terminal.env);
  await makeFolderOf(settings.journal);
  const journal = fileJournal(settings.journal, { outbox: true });
  const onError = (error: unknown): void => terminal.say(`exact-change: ${messageOf(error)}`);
  const { apiUrl: _url, apiKey: _key, autoSwap, ...node } = nodeOptions(settings);
  const authorize = apiKeys([key]);
  const ui = flags.ui === true ? await openUi() : undefined;
  // Each caller may ask for swaps, so without swaps there is no token to swap from.
  const swaps = autoSwap === false ? { swapFrom: [] } : {};
  const transport = local({ ...node, ...swaps, journal });
  const metrics = createMetrics();
  const webhooks = createWebhooks({
    journal,
    onError,
    onDelivery(delivery) {
      metrics.onDelivery(delivery);
      ui?.onDelivery(delivery);
    },
  });
  const handler = createHandler(transport, { authorize, webhooks, metrics, onError });
  const service = await serve((request) => ui?.handle(request) ?? handler(request), {
    port: flags.port,
    ...(hostname === undefined ? {} : { hostname }),
  });
  try {
    webhooks.start();
    const page = ui?.link(service.url);
    tell(terminal, flags.json === true, { url: service.url, source, page });
    // Reconcile the open payments of an earlier run in the background.
    transport.resume().catch(onError);
    await new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve));
  } finally {
    await ui?.close();
    await service.close();
    await webhooks.close();
    await transport.close();
    await journal.close();
  }
  return {};

  async function openUi() {
    const { startUi } = await import('../ui/start.js');
    const wallet = addressOf(settings, terminal);
    const path = settings.journal;
    return startUi({ journal, path, client: node, wallet, authorize, onError });
  }
};

/** Returns the address of the settings' wallet; undefined without one, as a service needs none. */
function addressOf({ wallet }: Settings, terminal: Terminal): string | undefined {
  try {
    return openWallet(wallet, { terminal, fd: undefined }).signer.address;
  } catch {
    return undefined;
  }
}

interface Started {
  readonly url: string;
  /** Path or variable of the service key. */
  readonly source: string;
  /** A link that opens the page, once. */
  readonly page: string | undefined;
}

function tell(terminal: Terminal, isJson: boolean, { url, source, page }: Started): void {
  if (isJson) {
    const ui = page === undefined ? {} : { ui: page };
    return terminal.print(jsonText({ ok: true, funds: 'untouched', url, source, ...ui }));
  }
  terminal.print(url);
  terminal.say(`Callers send the key in ${source} as x-api-key. Ctrl-C ends it.`);
  if (page !== undefined) terminal.say(`Open the page, once and within ten minutes: ${page}`);
}

/** Returns the key that callers must send: the setting, or a key that is made once and kept. */
async function serviceKey(
  { serviceKey: key }: Settings,
  env: Terminal['env'],
): Promise<{ readonly key: string; readonly source: string }> {
  if (key !== undefined) return { key, source: 'EXACT_CHANGE_SERVICE_KEY' };
  const source = join(stateFolder(env), 'service-key');
  await writeNewFile(source, `${randomBytes(24).toString('base64url')}\n`).catch(
    (error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error;
    },
  );
  return { key: (await readFile(source, 'utf8')).trim(), source };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? cleanLine(error.message) : 'A request failed.';
}
