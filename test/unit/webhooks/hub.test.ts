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
import { describe, expect, it, onTestFinished } from 'vitest';
import { attemptOf } from '../../helpers/attempts.js';
import { until } from '../../helpers/chain.js';
import { WALLET } from './signed.js';

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Starts an HTTP server over real sockets; each path is a receiver. */
async function receivers(answer: (path: string, response: ServerResponse) => void) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const { url: path = '', headers } = request;
      received.push({ path, headers, body });
      answer(path, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo; // A bound TCP server's.
  const at = (path: string) => received.filter((request) => request.path === path);
  return { url: `http://127.0.0.1:${port}`, received, at, cut: () => server.closeAllConnections() };
}

function hub(options: Partial<WebhooksOptions> = {}) {
  const journal = memoryJournal({ outbox: true });
  const webhooks = createWebhooks({ journal, allowPrivateTargets: true, ...options });
  onTestFinished(() => webhooks.close());
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
  it('arrive at their endpoint, and verify with both the old and the new secret', async () => {
    const { url, received } = await receivers((_, response) => accept(response));
    const { webhooks, fail } = hub();
    const before = await register(webhooks, `${url}/a`);
    const after = await webhooks.rotate(before.id);
    webhooks.start();
    const id = await fail();
    await until('the webhook arrived', () => received[0]);
    for (const secret of [before.secret, after?.secret]) {
      const { headers, body } = received[0]!;
      expect(verifyWebhook({ secret, headers, body })).toMatchObject({
        id: `${id}_payment_failed`,
        data: { id },
      });
    }
  });

  it('reach a quick receiver while other receivers hold their connections', async () => {
    const { url, at, cut } = await receivers((path, response) => {
      if (path === '/quick') accept(response);
      if (path === '/endless') response.writeHead(200).write('x');
    });
    const { webhooks, fail } = hub({ concurrency: 4, perEndpoint: 1 });
    for (const path of ['/slow', '/endless', '/quick']) await register(webhooks, url + path);
    webhooks.start();
    for (let event = 0; event < 20; event += 1) await fail();
    await until('all webhooks arrived at the quick endpoint', () =>
      at('/quick').length === 20 ? true : undefined,
    );
    expect(at('/slow')).toHaveLength(1);
    expect(new Set(at('/quick').map(({ headers }) => headers['webhook-id'])).size).toBe(20);
    // Without the cut, close() would wait ten seconds for the other two receivers.
    cut();
  });

  it('finish before close() resolves, and none starts after it', async () => {
    let finish = (): void => undefined;
    const { url, received } = await receivers((_, response) => (finish = () => accept(response)));
    const { webhooks, fail, journal } = hub({ concurrency: 1 });
    await register(webhooks, `${url}/a`);
    webhooks.start();
    await fail();
    await fail();
    await until('the first webhook arrived', () => received[0]);
    const closed = webhooks.close();
    finish();
    await closed;
    expect(received).toHaveLength(1);
    expect(await journal.outbox?.take({ limit: 10, leaseMs: 1, now: Date.now() })).toHaveLength(1);
  });

  it('stop for an endpoint that answers 410', async () => {
    const errors: unknown[] = [];
    const { url, received } = await receivers((_, response) => response.writeHead(410).end());
    const { webhooks, fail } = hub({ onError: (error) => errors.push(error) });
    await register(webhooks, `${url}/TOKEN`);
    webhooks.start();
    await fail();
    await until('onError was called', () => errors[0]);
    expect(errors).toEqual([
      expect.objectContaining({ code: 'service_unavailable', details: { status: 410 } }),
    ]);
    expect(JSON.stringify(errors)).not.toContain('TOKEN');
    expect(await webhooks.list()).toEqual([
      expect.objectContaining({ disabledAt: expect.any(Number) }),
    ]);
    expect(received).toHaveLength(1);
  });

  it('do not keep an idle process alive', async () => {
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
    onTestFinished(() => void child.kill('SIGKILL'));
    let output = '';
    child.stdout.on('data', (data: Buffer) => (output += data.toString()));
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    child.stdin.end(outputFiles[0]!.text);
    expect([await ended, output]).toEqual([0, 'started']);
  });
});
