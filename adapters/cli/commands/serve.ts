import { randomBytes } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { local } from 'exact-change';
import { isRecord } from '../../../src/internal/record.js';
import { apiKeys, createHandler, createMetrics } from 'exact-change/http';
import { fileJournal } from 'exact-change/journal/file';
import { serve } from 'exact-change/node';
import { createWebhooks } from 'exact-change/webhooks';
import { stateFolder } from '../paths.js';
import type { Command } from '../report.js';
import { nodeOptions, readSettings, type Settings } from '../settings.js';
import type { Terminal } from '../terminal.js';
import { writeNewFile } from '../wallet-file.js';
import { cleanLine, jsonText } from '../clean.js';

export interface ServeFlags {
  readonly port: number;
  readonly hostname?: string;
}

/** The REST service with webhooks, on the journal of all commands, until Ctrl-C. It holds no key. */
export const serveCommand: Command<ServeFlags> = async ({ terminal, flags }) => {
  const settings = readSettings(flags, terminal.env);
  const { key, source } = await serviceKey(settings, terminal.env);
  await mkdir(dirname(settings.journal), { recursive: true, mode: 0o700 });
  const journal = fileJournal(settings.journal, { outbox: true });
  const onError = (error: unknown): void => terminal.say(`exact-change: ${messageOf(error)}`);
  const { apiUrl: _url, apiKey: _key, autoSwap: _swap, ...node } = nodeOptions(settings);
  const transport = local({ ...node, journal });
  const metrics = createMetrics();
  const webhooks = createWebhooks({ journal, onError, onDelivery: metrics.onDelivery });
  const service = await serve(
    createHandler(transport, { authorize: apiKeys([key]), webhooks, metrics, onError }),
    { port: flags.port, ...(flags.hostname === undefined ? {} : { hostname: flags.hostname }) },
  );
  try {
    webhooks.start();
    tell(terminal, flags.json === true, service.url, source);
    // What an earlier run left open goes on meanwhile.
    transport.resume().catch(onError);
    await new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve));
  } finally {
    await service.close();
    await webhooks.close();
    await transport.close();
    await journal.close();
  }
  return {};
};

function tell(terminal: Terminal, isJson: boolean, url: string, source: string): void {
  if (isJson) return terminal.print(jsonText({ ok: true, funds: 'untouched', url, source }));
  terminal.print(url);
  terminal.say(`Callers send the key in ${source} as x-api-key. Ctrl-C ends it.`);
}

/** The key that callers have to send: the setting, or one that is made once and kept. */
async function serviceKey(
  { serviceKey: key }: Settings,
  env: Terminal['env'],
): Promise<{ readonly key: string; readonly source: string }> {
  if (key !== undefined) return { key, source: 'EXACT_CHANGE_SERVICE_KEY' };
  const source = join(stateFolder(env), 'service-key');
  await writeNewFile(source, `${randomBytes(24).toString('base64url')}\n`).catch(
    (error: unknown) => {
      if (!isRecord(error) || error['code'] !== 'EEXIST') throw error;
    },
  );
  return { key: (await readFile(source, 'utf8')).trim(), source };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? cleanLine(error.message) : 'A request failed.';
}
