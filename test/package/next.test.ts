import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { freePort } from '../helpers/postgres.js';
import { rawRequest } from '../helpers/raw.js';
import { npm } from './setup.js';

const run = promisify(execFile);
const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' };

let folder: string;
let server: ChildProcess | undefined;
let url: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exact-change-next-'));
  await cp(fileURLToPath(new URL('next', import.meta.url)), folder, { recursive: true });
  await run('npm', ['install', ...npm, inject('packed').tarballs.library], { cwd: folder });
  const next = join(folder, 'node_modules/next/dist/bin/next');
  await run(process.execPath, [next, 'build'], { cwd: folder, env });
  // Next.js does not accept port 0.
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const args = [next, 'start', '--port', String(port), '--hostname', '127.0.0.1'];
  server = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] });
  await new Promise<void>((resolve, reject) => {
    server?.stdout?.on('data', (text: Buffer) => text.includes('Ready') && resolve());
    server?.once('exit', (code) => reject(new Error(`next ended with ${code ?? 'a signal'}`)));
  });
}, 400_000);

afterAll(async () => {
  server?.kill();
  await rm(folder, { recursive: true, force: true });
});

describe('the packed package in Next.js', () => {
  it('serves below its path, reads bodies, and passes refusals of the handler', async () => {
    const health = await fetch(`${url}/pay/api/health`);
    expect([health.status, await health.json()]).toEqual([200, { status: 'ok' }]);
    const parse = (body: string) =>
      fetch(`${url}/pay/api/x402/parse-payment`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
    const refused = await parse('{"body":{"x402Version":1,"accepts":7}}');
    expect([refused.status, await refused.json()]).toMatchObject([
      422,
      { code: 'malformed_payment_required' },
    ]);
    expect((await parse(`{"body":"${'x'.repeat(70_000)}"}`)).status).toBe(413);
    expect((await fetch(`${url}/pay/api/nothing`)).status).toBe(404);
    expect((await fetch(`${url}/pay/api/quote`, { method: 'DELETE' })).status).toBe(405);
    expect((await fetch(`${url}/pay/api/health`, { method: 'HEAD' })).status).toBe(200);
  });

  it('passes the Host header of the caller to the handler', async () => {
    const path = '/pay/api/quote?inputMint=SOL';
    const headers = { host: 'shop.example:99', 'x-ask': 'url' };
    const { text } = await rawRequest(url + path, { method: 'GET', headers });
    expect(text).toContain(`http://shop.example:99${path}`);
  });
});
