import { spawn } from 'node:child_process';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { memoryJournal } from 'exact-change';
import {
  createWebhooks,
  verifyWebhook,
  type Webhooks,
  type WebhooksOptions,
} from 'exact-change/webhooks';
import { build } from 'esbuild';
import { afterEach, describe, expect, it } from 'vitest';
import { attemptOf } from '../../helpers/attempts.js';
import { until } from '../../helpers/chain.js';
import { WALLET } from './signed.js';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Came {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Receivers by the path that they are at, over real sockets. */
async function receivers(answer: (path: string, response: ServerResponse) => void) {
  const came: Came[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const { url: path = '', headers } = request;
      came.push({ path, headers, body });
      answer(path, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo; // A bound TCP server's.
  const at = (path: string) => came.filter((one) => one.path === path);
  return { url: `http://127.0.0.1:${port}`, came, at, cut: () => server.closeAllConnections() };
}

function hub(options: Partial<WebhooksOptions> = {}) {
  const journal = memoryJournal({ outbox: true });
  const webhooks = createWebhooks({ journal, allowPrivateTargets: true, ...options });
  closers.push(() => webhooks.close());
  const fail = async (): Promise<string> => {
    const attempt = attemptOf({ wallet: WALLET });
    await journal.reserve(attempt, []);
    await journal.release(attempt.id);
    return attempt.id;
  };
  return { journal, webhooks, fail };
}

const register = (webhooks: Webhooks, url: string) =>
  webhooks.register({ url, events: ['payment.failed'] });
const accept = (response: ServerResponse) => response.writeHead(204).end();

describe('webhooks over real sockets', () => {
  it('arrive at the endpoint that asked for them, which verifies them by the old secret and the new', async () => {
    const { url, came } = await receivers((_, response) => accept(response));
    const { webhooks, fail } = hub();
    const before = await register(webhooks, `${url}/a`);
    const after = await webhooks.rotate(before.id);
    webhooks.start();
    const id = await fail();
    await until('it came', () => came[0]);
    for (const secret of [before.secret, after?.secret]) {
      const { headers, body } = came[0]!;
      expect(verifyWebhook({ secret, headers, body })).toMatchObject({
        id: `${id}_payment_failed`,
        data: { id },
      });
    }
  });

  it('go past a receiver that is slow, and one that never ends its answer', async () => {
    const { url, at, cut } = await receivers((path, response) => {
      if (path === '/quick') accept(response);
      if (path === '/endless') response.writeHead(200).write('x');
    });
    const { webhooks, fail } = hub({ concurrency: 4, perEndpoint: 1 });
    for (const path of ['/slow', '/endless', '/quick']) await register(webhooks, url + path);
    webhooks.start();
    for (let event = 0; event < 20; event += 1) await fail();
    await until('all came to the endpoint that is quick', () =>
      at('/quick').length === 20 ? true : undefined,
    );
    expect(at('/slow')).toHaveLength(1);
    expect(new Set(at('/quick').map(({ headers }) => headers['webhook-id'])).size).toBe(20);
    // Its end would wait ten seconds for the other two.
    cut();
  });

  it('are waited for at the end, and no more are begun', async () => {
    let finish = (): void => undefined;
    const { url, came } = await receivers((_, response) => (finish = () => accept(response)));
    const { webhooks, fail, journal } = hub({ concurrency: 1 });
    await register(webhooks, `${url}/a`);
    webhooks.start();
    await fail();
    await fail();
    await until('one came', () => came[0]);
    const closed = webhooks.close();
    finish();
    await closed;
    expect(came).toHaveLength(1);
    expect(await journal.outbox?.take({ limit: 10, leaseMs: 1, now: Date.now() })).toHaveLength(1);
  });

  it('end with 410: nothing more is told there', async () => {
    const errors: unknown[] = [];
    const { url, came } = await receivers((_, response) => response.writeHead(410).end());
    const { webhooks, fail } = hub({ onError: (error) => errors.push(error) });
    await register(webhooks, `${url}/TOKEN`);
    webhooks.start();
    await fail();
    await until('it is told of', () => errors[0]);
    expect(errors).toEqual([
      expect.objectContaining({ code: 'service_unavailable', details: { status: 410 } }),
    ]);
    expect(JSON.stringify(errors)).not.toContain('TOKEN');
    expect(await webhooks.list()).toEqual([
      expect.objectContaining({ disabledAt: expect.any(Number) }),
    ]);
    expect(came).toHaveLength(1);
  });

  it('keep no process alive that has nothing else to do', async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: `
          import { memoryJournal } from './src/index.ts';
          import { createWebhooks } from './adapters/webhooks/index.ts';
          createWebhooks({ journal: memoryJournal({ outbox: true }) }).start();
          setTimeout(() => process.stdout.write('started'), 50);`,
        resolveDir: fileURLToPath(new URL('../../..', import.meta.url)),
      },
      ...{ bundle: true, write: false, platform: 'node', format: 'cjs', logLevel: 'error' },
      external: ['@solana/*', '@jup-ag/api'],
    });
    const child = spawn(process.execPath, ['-'], { stdio: ['pipe', 'pipe', 'inherit'] });
    closers.push(() => child.kill('SIGKILL'));
    let said = '';
    child.stdout.on('data', (data: Buffer) => (said += data.toString()));
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    child.stdin.end(outputFiles[0]!.text);
    expect([await ended, said]).toEqual([0, 'started']);
  });
});
