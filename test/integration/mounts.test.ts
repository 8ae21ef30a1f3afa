import { gzipSync } from 'node:zlib';
import { clientAddress } from 'exact-change/express';
import { createHandler, rateLimit, type HandlerOptions } from 'exact-change/http';
import { afterEach, describe, expect, it } from 'vitest';
import { mountContract } from '../contract/mount-contract.js';
import { MOUNTS, type Mounted } from '../helpers/mounts.js';
import { fakeTransport } from '../unit/http/fake.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const QUOTE = '/api/quote?inputMint=SOL&outputMint=USDC&amount=5';

for (const mount of MOUNTS) mountContract(mount);

const open: Mounted[] = [];
afterEach(async () => {
  for (const mounted of open.splice(0)) await mounted.close();
});

const named = (name: string) => MOUNTS.find((mount) => mount.name === name)!;

async function serving(name: string, options: HandlerOptions): Promise<string> {
  const one = await named(name).start(
    createHandler(fakeTransport().transport, { basePath: '/pay', ...options }),
  );
  open.push(one);
  return one.url;
}

describe.each(['express', 'hono'])('%s', (name) => {
  it('keeps what is not below the path of the service', async () => {
    const url = await serving(name, {});
    expect(await (await fetch(new URL('/other', url))).text()).toBe('other');
  });
});

describe('the address of a caller', () => {
  it.each([
    ['node', '127.0.0.1'],
    ['express', '203.0.113.7'],
    ['hono', undefined],
  ])('is for %s what it knows of it', async (name, address) => {
    const seen: unknown[] = [];
    const url = await serving(name, {
      authorize: (request) => (seen.push(clientAddress(request)), true),
    });
    await fetch(url + QUOTE, { headers: { 'x-forwarded-for': '198.51.100.1, 203.0.113.7' } });
    expect(seen).toEqual([address]);
  });

  it('bounds each caller alone', async () => {
    const url = await serving('express', {
      rateLimit: rateLimit({ perMinute: 1, keyOf: (request) => clientAddress(request) ?? '' }),
    });
    const statusFor = async (address: string) =>
      (await fetch(url + QUOTE, { headers: { 'x-forwarded-for': address } })).status;
    expect([
      await statusFor('203.0.113.1'),
      await statusFor('203.0.113.1'),
      await statusFor('203.0.113.2'),
    ]).toEqual([200, 429, 200]);
  });
});

describe('a parser before express', () => {
  it('may unpack what was sent packed', async () => {
    const url = await serving('express after express.json()', {});
    const init = {
      method: 'POST',
      headers: { ...JSON_TYPE, 'content-encoding': 'gzip' },
      body: gzipSync('{"body":{"a":1}}'),
    };
    expect((await fetch(`${url}/api/x402/parse-payment`, init)).status).toBe(200);
  });
});
