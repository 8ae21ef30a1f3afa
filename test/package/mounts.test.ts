import type { Server } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { local, remote } from 'exact-change';
import { clientAddress, fastifyHandler } from 'exact-change/fastify';
import { createHandler } from 'exact-change/http';
import { koaHandler } from 'exact-change/koa';
import type { FetchHandler } from 'exact-change/node';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { mountContract } from '../contract/mount-contract.js';
import { transportContract } from '../contract/transport-contract.js';
import { listening, MOUNTS_OF_PACKAGE_TESTS, type Mount, type Mounted } from '../helpers/mounts.js';
import { fakeTransport } from '../unit/http/fake.js';

const { inFastify, inKoa } = (await import(
  pathToFileURL(join(inject('packed').doors, 'mounts.mjs')).href
)) as {
  readonly inFastify: (plugin: object) => Promise<Mounted>;
  readonly inKoa: (middleware: object, parses: boolean) => Promise<Server>;
};

const koa = (parses: boolean) => async (handler: FetchHandler) =>
  listening(await inKoa(koaHandler(handler, '/pay'), parses));

const MOUNTS: readonly Mount[] = [
  {
    name: 'fastify',
    parses: false,
    start: (handler) => inFastify(fastifyHandler(handler)),
  },
  { name: 'koa', parses: false, start: koa(false) },
  { name: 'koa after a parser of bodies', parses: true, start: koa(true) },
];

for (const mount of MOUNTS) mountContract(mount);

for (const { name, start } of MOUNTS.filter(({ parses }) => !parses)) {
  transportContract(`the transport behind a service in ${name}`, async (options) => {
    const mounted = await start(createHandler(local(options), { basePath: '/pay' }));
    return { transport: remote(`${mounted.url}/`), close: () => mounted.close() };
  });
}

describe.each(MOUNTS)('$name', ({ start }) => {
  it('keeps its other routes, its hooks and its trusted proxies beside the service', async () => {
    const seen: unknown[] = [];
    const options = {
      basePath: '/pay',
      authorize: (request: Request) => (seen.push(clientAddress(request)), true),
    };
    const { url, close } = await start(createHandler(fakeTransport().transport, options));
    onTestFinished(() => close());
    expect(await (await fetch(new URL('/other', url))).text()).toBe('other');
    const headers = { 'x-forwarded-for': '198.51.100.1' };
    const response = await fetch(`${url}/api/health`, { headers });
    expect([response.status, response.headers.get('x-hook')]).toEqual([200, 'ran']);
    await fetch(`${url}/api/quote?inputMint=SOL&outputMint=USDC&amount=5`, { headers });
    expect(seen).toEqual(['198.51.100.1']);
  });
});

it('covers every mount that MOUNTS_OF_PACKAGE_TESTS lists', () => {
  const names = new Set(MOUNTS.map(({ name }) => name.split(' ')[0]));
  expect([...names].sort()).toEqual([...MOUNTS_OF_PACKAGE_TESTS].sort());
});
