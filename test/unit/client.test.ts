import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { buildClient, type Client, type Composition } from '../../src/client.js';
import { parts } from '../../src/parts.js';
import { X402_HEADERS } from '../../src/protocols/x402/index.js';
import { headersOf, startRecording } from './recording-server.js';

const offer = { scheme: 'exact', network: 'solana' };
const offered = Buffer.from(JSON.stringify({ x402Version: 2, accepts: [offer] })).toString(
  'base64',
);
const swapOfSol = { inputMint: 'SOL', outputMint: 'USDC', amount: '1' };
const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'der' });
const walletSeed = Uint8Array.from(key.subarray(-32));

/** Builds a client that loads its code through `load`. */
function clientWith(load: Composition['load'] = () => Promise.resolve(parts)): Client {
  return buildClient({ walletSeed, retries: 1 }, { headers: X402_HEADERS, load });
}

async function recording(answer?: Parameters<typeof startRecording>[0]) {
  const server = await startRecording(answer);
  onTestFinished(() => server.close());
  return server;
}

// Sorted, because requests of separate connections arrive in any order.
const sorted = (list: readonly (string | undefined)[]) => [...list].sort();

describe('a call with objects that the caller changes afterwards', () => {
  /** Returns a client that records the arguments that its engine gets. */
  const recorded = () => {
    const asked: unknown[][] = [];
    const ask = async (...args: unknown[]) => {
      asked.push(args);
      throw new Error('asked');
    };
    const client = clientWith(async () => ({
      ...parts,
      createEngine: async (...made) => ({
        ...(await parts.createEngine(...made)),
        ...{ swap: ask, quote: ask, balance: ask, pay: ask },
      }),
    }));
    return { client, asked };
  };

  it('swaps and quotes the original request', async () => {
    const { client, asked } = recorded();
    const request = { inputMint: 'SOL', outputMint: 'USDC', amount: '1' };
    const noWorseThan = { maxInAmount: '1', minOutAmount: '1' };
    const options = { counted: true, noWorseThan };
    const calls = [client.swap(request, options), client.quote(request)];
    request.amount = '999';
    options.counted = false;
    noWorseThan.minOutAmount = '0';
    await Promise.allSettled(calls);
    const original = { ...request, amount: '1' };
    const approved = { counted: true, noWorseThan: { maxInAmount: '1', minOutAmount: '1' } };
    expect(asked).toEqual([
      [original, approved],
      [original, undefined],
    ]);
  });

  it('reads the original balances, and pays for the original URL', async () => {
    const { client, asked } = recorded();
    const mints = ['USDC'];
    const terms = { x402Version: 2, accepts: [] } as const;
    const options = { url: 'https://one.example/' };
    const calls = [client.balance(mints), client.pay(terms, options)];
    mints[0] = 'BONK';
    options.url = 'https://other.example/';
    await Promise.allSettled(calls);
    expect(asked).toEqual([
      [['USDC'], undefined],
      [terms, { url: 'https://one.example/' }],
    ]);
  });
});

describe('a call', () => {
  it.each<[string, (client: Client) => unknown]>([
    ['before the code is loaded', () => undefined],
    ['after the engine is loaded', (client) => client.spent()],
  ])('sends the original request when the caller reuses its objects %s', async (_, prepare) => {
    const server = await recording((__, response) => response.end());
    const client = clientWith();
    await prepare(client);
    const headers: Record<string, string> = {};
    const body = new Uint8Array(1);
    const url = new URL(server.origin);
    const calls = ['1', '2', '3'].map((id) => {
      headers['x-id'] = id;
      body.fill(Number(id));
      url.pathname = `/${id}`;
      return client.fetch(url, { method: 'POST', headers, body });
    });
    await Promise.all(calls);
    const seen = server.seen.map(
      (request) => `${request.url} ${headersOf(request)['x-id']} ${request.body[0]}`,
    );
    expect(sorted(seen)).toEqual(['/1 1 1', '/2 2 2', '/3 3 3']);
  });

  it.each<[string, (headers: Record<string, string>) => HeadersInit]>([
    ['a plain object', (headers) => headers],
    ['a Headers instance', (headers) => new Headers(headers)],
  ])(
    'repeats the first headers in a retry when the caller changed %s meanwhile',
    async (_, wrap) => {
      let requests = 0;
      const server = await recording((__, response) => {
        response.statusCode = (requests += 1) === 1 ? 503 : 200;
        response.end();
      });
      const headers = wrap({ 'x-id': '1' });
      const calling = clientWith().fetch(server.origin, { headers });
      if (headers instanceof Headers) headers.set('x-id', '2');
      else Object.assign(headers, { 'x-id': '2' });
      expect((await calling).status).toBe(200);
      expect(server.seen.map((request) => headersOf(request)['x-id'])).toEqual(['1', '1']);
    },
  );
});

describe('a client with code that does not load', () => {
  it('loads the code again for the next 402, and sends free calls without it', async () => {
    const server = await recording((request, response) => {
      response.statusCode = request.url === '/free' ? 200 : 402;
      response.end();
    });
    let loads = 0;
    const client = clientWith(() => {
      loads += 1;
      return loads === 1 ? Promise.reject(new TypeError('offline')) : Promise.resolve(parts);
    });
    await expect(client.spent()).rejects.toThrow('offline');
    expect((await client.fetch(`${server.origin}/free`)).status).toBe(200);
    expect((await client.fetch(`${server.origin}/paid`)).status).toBe(402);
    expect(loads).toBe(2);
    await client.close();
  });

  it.each<[string, Composition['load'], (client: Client) => unknown]>([
    ['cannot be loaded', () => Promise.reject(new TypeError('offline')), () => undefined],
    ['loads when the client is closed', () => Promise.resolve(parts), (client) => client.close()],
  ])('keeps no connection for a 402 if the code %s', async (_, load, prepare) => {
    const closed = vi.fn();
    const server = await recording((__, response) => {
      response.once('close', closed).writeHead(402, { 'payment-required': offered }).write('<p>');
    });
    const client = clientWith(load);
    await prepare(client);
    await expect(client.fetch(server.origin)).rejects.toThrow();
    await expect(client.plan(server.origin)).rejects.toThrow();
    await expect.poll(() => closed).toHaveBeenCalledTimes(2);
  });

  it.each<[string, (client: Client, url: string, signal: AbortSignal) => Promise<unknown>]>([
    ['fetch', (client, url, signal) => client.fetch(url, { signal })],
    ['plan', (client, url, signal) => client.plan(url, { signal })],
    ['pay', (client, url, signal) => client.pay({ x402Version: 2, accepts: [] }, { url, signal })],
    ['swap', (client, _, signal) => client.swap(swapOfSol, { signal })],
    ['quote', (client, _, signal) => client.quote(swapOfSol, { signal })],
    ['balance', (client, _, signal) => client.balance('USDC', { signal })],
  ])('ends %s with its caller while the code never loads', async (_, call) => {
    const server = await recording();
    const load = vi.fn<Composition['load']>(() => new Promise(() => undefined));
    const caller = new AbortController();
    const ended = expect(call(clientWith(load), server.origin, caller.signal)).rejects.toBe('gone');
    await expect.poll(() => load).toHaveBeenCalled();
    caller.abort('gone');
    await ended;
  });

  it('answers a free call while the code is still loading', async () => {
    const server = await recording((_, response) => response.end());
    const client = clientWith(() => new Promise(() => undefined));
    void client.spent();
    expect((await client.fetch(server.origin)).status).toBe(200);
  });
});

describe('a client that is closed while its code loads', () => {
  it('closes at once even if the code never loads', async () => {
    const client = clientWith(() => new Promise(() => undefined));
    void client.spent();
    await client.close();
  });

  it('rejects waiting calls with client_closed, and closes an engine that loads late', async () => {
    const readSpent = vi.fn(async () => []);
    const close = vi.fn(async () => undefined);
    let finishLoad = (_: typeof parts): void => undefined;
    const client = clientWith(() => new Promise((resolve) => (finishLoad = resolve)));
    const spent = client.spent();
    await client.close();
    finishLoad({
      ...parts,
      createEngine: async (...made) => ({
        ...(await parts.createEngine(...made)),
        ...{ spent: readSpent, close },
      }),
    });
    await expect(spent).rejects.toMatchObject({ code: 'client_closed', funds: 'untouched' });
    expect([readSpent, close].map(({ mock }) => mock.calls.length)).toEqual([0, 1]);
  });
});
