import { gzipSync } from 'node:zlib';
import { clientAddress } from 'exact-change/express';
import { createHandler, rateLimit, type HandlerOptions } from 'exact-change/http';
import { afterEach, describe, expect, it } from 'vitest';
import { mountContract } from '../contract/mount-contract.js';
import { MOUNTS, type Mounted } from '../helpers/mounts.js';
import { rawRequest } from '../helpers/raw.js';
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
  const mounted = await named(name).start(
    createHandler(fakeTransport().transport, { basePath: '/pay', ...options }),
  );
  open.push(mounted);
  return mounted.url;
}

describe.each(['express', 'hono'])('the mount of %s', (name) => {
  it('leaves requests outside the path of the service to the app', async () => {
    const url = await serving(name, {});
    expect(await (await fetch(new URL('/other', url))).text()).toBe('other');
  });
});

it.each(MOUNTS.filter(({ parses }) => !parses))(
  'a host that is no address is answered with 400 in $name',
  async ({ name }) => {
    const failures: unknown[] = [];
    const url = await serving(name, { onError: (error) => failures.push(error) });
    const headers = { host: '1.2.3.4.5' };
    const { status, text } = await rawRequest(`${url}/api/health`, { headers });
    // A server on this machine refuses each name but its own.
    const isNamed = ['node', 'next'].includes(name);
    expect([status, JSON.parse(text)]).toEqual([
      isNamed ? 404 : 400,
      expect.objectContaining({ code: isNamed ? 'not_found' : 'malformed_request' }),
    ]);
    expect(failures).toEqual([]);
  },
);

describe('clientAddress', () => {
  it.each([
    ['node', '127.0.0.1'],
    ['express', '203.0.113.7'],
    ['hono', undefined],
  ])('is what %s knows: %s', async (name, address) => {
    const seen: unknown[] = [];
    const url = await serving(name, {
      authorize: (request) => (seen.push(clientAddress(request)), true),
    });
    await fetch(url + QUOTE, { headers: { 'x-forwarded-for': '198.51.100.1, 203.0.113.7' } });
    expect(seen).toEqual([address]);
  });

  it('gives each caller a rate limit of its own', async () => {
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

describe('a body parser before express', () => {
  it('may decompress the body of a request', async () => {
    const url = await serving('express after express.json()', {});
    const init = {
      method: 'POST',
      headers: { ...JSON_TYPE, 'content-encoding': 'gzip' },
      body: gzipSync('{"body":{"a":1}}'),
    };
    expect((await fetch(`${url}/api/x402/parse-payment`, init)).status).toBe(200);
  });
});
