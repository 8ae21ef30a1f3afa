import { inspect } from 'node:util';
import { Connection } from '@solana/web3.js';
import {
  createClient,
  HTTPInterceptor,
  memoryJournal,
  receiptOf,
  remote,
  type Client,
  type ClientOptions,
  type Journal,
} from 'exact-change';
import { apiKeys } from 'exact-change/http';
import type { SandboxWallet } from 'exact-change-sandbox';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import {
  errorChain,
  exposed,
  findNeedles,
  keyNeedles,
  tap,
  tapSocket,
  type Needle,
  type Tap,
} from '../helpers/capture.js';
import { secretBytes } from '../helpers/payer.js';
import { startRecordedService, type RecordedService } from '../helpers/recorded-service.js';
import { processState } from '../helpers/process-state.js';
import { useSandbox } from '../helpers/sandbox.js';

const RPC_KEY = 'rpc-provider-key-4f1c9a';
const JUPITER_KEY = 'jupiter-api-key-8d2e7b';
const SERVICE_KEY = 'service-api-key-5a90cf31';
const API_KEYS: readonly Needle[] = [
  { name: 'the RPC provider’s key', text: RPC_KEY },
  { name: 'Jupiter’s key', text: JUPITER_KEY },
];

const sandbox = await useSandbox({ confirmationMs: 20 });
let rpc: Tap;
let jupiter: Tap;
let api: Tap;
let socket: Awaited<ReturnType<typeof tapSocket>>;

const portOf = (url: string) => Number(new URL(url).port);

beforeAll(async () => {
  [rpc, jupiter, api] = await Promise.all([
    tap(portOf(sandbox.rpcUrl)),
    tap(portOf(sandbox.jupiterUrl)),
    tap(portOf(sandbox.apiUrl)),
  ]);
  socket = await tapSocket(sandbox.wsUrl);
});

afterEach(async () => {
  const { node, aggregator, facilitator, api: seller } = sandbox.controls;
  node.clearFaults();
  aggregator.restore();
  facilitator.clearFaults();
  await facilitator.start();
  seller.clearFaults();
});

afterAll(async () => {
  await Promise.all([rpc, jupiter, api, socket].map((tapped) => tapped.close()));
});

const at = (port: number, path = '') => `http://127.0.0.1:${port}${path}`;

/** Everything about a client that is visible from outside, by kind. */
interface Trace {
  readonly errors: unknown[];
  readonly events: unknown[];
  readonly journaled: unknown[];
  readonly objects: unknown[];
}

const newTrace = (): Trace => ({ errors: [], events: [], journaled: [], objects: [] });

/** Returns a journal that records each attempt that it writes. */
function watchedJournal(record: Trace): Journal {
  const journal = memoryJournal();
  return {
    ...journal,
    reserve: (attempt, caps) => (record.journaled.push(attempt), journal.reserve(attempt, caps)),
    put: (attempt) => (record.journaled.push(attempt), journal.put(attempt)),
  };
}

function clientOf(record: Trace, options: ClientOptions): Client {
  const client = createClient({
    rpcUrl: at(rpc.port, `/?api-key=${RPC_KEY}`),
    wsUrl: `ws://127.0.0.1:${socket.port}/?api-key=${RPC_KEY}`,
    jupiterUrl: at(jupiter.port),
    jupiterApiKey: JUPITER_KEY,
    autoSwap: true,
    journal: watchedJournal(record),
    logger: { debug: (line) => void record.events.push(line) },
    ...options,
  });
  client.on('*', (event) => void record.events.push(event));
  record.objects.push(client);
  return client;
}

async function failing(record: Trace, call: () => unknown): Promise<void> {
  try {
    await call();
  } catch (error) {
    record.errors.push(error);
    return;
  }
  throw new Error('expected a failure');
}

const FUNDS = { SOL: '0.2', BONK: '5000000' };

/** Makes a purchase with a swap, and then every other kind of call. */
async function succeed(record: Trace, options: ClientOptions): Promise<void> {
  const client = clientOf(record, options);
  const response = await client.fetch(at(api.port, '/usdc'));
  expect(response.status).toBe(200);
  record.objects.push(receiptOf(response), response);
  record.objects.push(
    await client.plan(at(api.port, '/usdt')),
    await client.balance(),
    await client.spent(),
    await client.resume(),
  );
  record.objects.push(
    await client.quote({
      inputMint: 'SOL',
      outputMint: 'USDC',
      amount: 10_000n,
      swapMode: 'ExactOut',
    }),
  );
  for await (const receipt of client.receipts()) record.objects.push(receipt);
  await client.close();
  const kept = processState();
  expect(kept.length).toBeGreaterThan(0);
  record.objects.push(...kept.map((name): unknown => Reflect.get(globalThis, name)));

  const interceptor = new HTTPInterceptor({
    ...options,
    rpcUrl: at(rpc.port),
    jupiterUrl: at(jupiter.port),
    install: false,
  });
  expect((await interceptor.fetch(at(api.port, '/usdc'))).status).toBe(200);
  interceptor.install();
  record.objects.push(interceptor, interceptor.fetch, globalThis.fetch);
  interceptor.restore();
  await interceptor.client.close();
}

/** Makes every kind of call fail, in sequence. */
async function fail(record: Trace, options: ClientOptions): Promise<void> {
  const { node, aggregator, facilitator, api: seller } = sandbox.controls;
  const buy = (change: ClientOptions = {}, path = '/usdt') =>
    failing(record, () =>
      clientOf(record, {
        ...options,
        timeouts: { payment: 400 },
        ...change,
      }).fetch(at(api.port, path)),
    );
  const gone = at(1, `/v2/${RPC_KEY}/?api-key=${RPC_KEY}`);

  await buy({ rpcUrl: gone });
  await buy({ rpcUrl: [gone, at(2, `/v2/${RPC_KEY}`)] });
  await buy({
    rpcUrl: undefined,
    wsUrl: undefined,
    connection: new Connection(gone, { disableRetryOnRateLimit: true }),
  });
  for (const fault of [
    { kind: 'rateLimited' },
    { kind: 'status', status: 500, body: 'upstream' },
    { kind: 'garbage' },
    { kind: 'hang' },
    { kind: 'dropBefore' },
    { kind: 'error', code: -32005, message: 'Node is unhealthy' },
  ] as const) {
    node.fault('getMultipleAccounts', fault);
    await buy(fault.kind === 'hang' ? { timeouts: { rpc: 300 } } : {});
    node.clearFaults();
  }
  await buy({ jupiterUrl: at(1) });
  for (const fault of [
    { kind: 'status', status: 401 },
    { kind: 'status', status: 500 },
    { kind: 'status', status: 302, headers: { location: at(1, `/?key=${JUPITER_KEY}`) } },
    { kind: 'garbage' },
    { kind: 'hang' },
    { kind: 'dropBefore' },
  ] as const) {
    aggregator.fault('*', fault);
    await buy(fault.kind === 'hang' ? { timeouts: { jupiter: 200 } } : {});
    aggregator.restore();
  }
  await buy({ autoSwap: false });
  await buy({ policy: { maxPerPayment: '0.001' } });
  await buy({ network: 'solana-devnet' });
  await buy({}, '/no-account');
  aggregator.noRoute('*', 'USDT');
  await buy();
  aggregator.restore();
  aggregator.lie('/swap/v1/swap-instructions', (answer) => ({ ...answer, swapInstruction: null }));
  await buy();
  aggregator.restore();
  aggregator.setVenue({ deviationBps: 90 });
  await buy();
  aggregator.setVenue({});
  await facilitator.stop();
  await buy();
  await buy();
  await facilitator.start();
  facilitator.fault('/settle', { kind: 'dropAfter', times: 1 });
  const journal = watchedJournal(record);
  for (const _ of ['rejected', 'spent']) await buy({ journal }, '/memo');
  const lost = clientOf(record, options);
  lost.on('payment.sent', () => seller.fault('/blockhash', { kind: 'dropBefore', times: 1 }));
  await failing(record, () => lost.fetch(at(api.port, '/blockhash')));
  await lost.close();
  await failing(record, () => lost.fetch(at(api.port, '/usdc')));
  await failing(record, () =>
    clientOf(record, options).swap({ inputMint: 'DOGE', outputMint: 'USDC', amount: 1n }),
  );
  // Invalid options beside the key, which are refused before the key is read, or after.
  for (const wrong of [
    { rpcUrl: `htp://${RPC_KEY}` },
    { autoswap: true },
    { policy: { maxPerDay: 5 } },
    { timeouts: { rpc: RPC_KEY } },
  ]) {
    await failing(record, () => createClient(Object.assign({}, options, wrong)));
  }
  if (options.walletSecretKey !== undefined) {
    await failing(record, () =>
      createClient({
        ...options,
        signer: { address: 'x', signMessage: () => Promise.reject(new Error('no')) },
      }),
    );
    await failing(record, () =>
      createClient({ walletSecretKey: brokenOf(options.walletSecretKey) }),
    );
  }
}

/** Returns the same key with a mistake, in the same spelling. */
function brokenOf(key: ClientOptions['walletSecretKey']): string | Uint8Array {
  if (typeof key === 'string') return `${key} `.repeat(2);
  return Uint8Array.from([...(key ?? []), 0]);
}

/** Returns each needle that was found, with its place. */
function leaks(record: Trace, needles: readonly Needle[]): string[] {
  const found = (what: string, values: readonly unknown[]) =>
    values.flatMap((value) =>
      findNeedles(exposed(value), needles).map(
        (name) => `${name} in ${what}: ${inspect(value, { depth: 1 }).slice(0, 200)}`,
      ),
    );
  return [
    ...record.errors.flatMap((error) => found('an error', errorChain(error))),
    ...found('an event', record.events),
    ...found('the journal', record.journaled),
    ...found('an object', record.objects),
  ];
}

const wires = () => ({
  rpc: rpc.sent,
  jupiter: jupiter.sent,
  api: api.sent,
  socket: socket.sent,
  answers: rpc.received + jupiter.received + api.received,
});

describe('the secret key', () => {
  const SPELLINGS: readonly (readonly [string, (wallet: SandboxWallet) => ClientOptions])[] = [
    ['base58', ({ secretKey }) => ({ walletSecretKey: secretKey })],
    [
      'the text of a JSON array',
      ({ secretKey }) => ({ walletSecretKey: JSON.stringify([...secretBytes(secretKey)]) }),
    ],
    ['bytes', ({ secretKey }) => ({ walletSecretKey: secretBytes(secretKey) })],
    ['a list of numbers', ({ secretKey }) => ({ walletSecretKey: [...secretBytes(secretKey)] })],
    ['the seed', ({ secretKey }) => ({ walletSeed: secretBytes(secretKey).slice(0, 32) })],
  ];

  it.each(SPELLINGS)('appears nowhere when calls succeed, given as %s', async (_, spell) => {
    const wallet = await sandbox.createWallet(FUNDS);
    const record = newTrace();
    await succeed(record, spell(wallet));
    const needles = keyNeedles(secretBytes(wallet.secretKey));
    // The needles match the key itself, which proves that they are the right needles.
    expect(findNeedles(inspect(secretBytes(wallet.secretKey)), needles)).toContain(
      'list of numbers',
    );
    expect(record.events.length).toBeGreaterThanOrEqual(10);
    expect(record.journaled.length).toBeGreaterThan(3);
    expect(leaks(record, needles)).toEqual([]);
    for (const [name, bytes] of Object.entries(wires()))
      expect([name, findNeedles(bytes, needles)]).toEqual([name, []]);
  });

  it('appears nowhere when calls fail', async () => {
    const wallet = await sandbox.createWallet(FUNDS);
    const record = newTrace();
    await fail(record, { walletSecretKey: wallet.secretKey });
    const codes = new Set(record.errors.map((error) => Reflect.get(Object(error), 'code')));
    expect(codes.size).toBeGreaterThan(14);
    expect(leaks(record, keyNeedles(secretBytes(wallet.secretKey)))).toEqual([]);
    for (const [name, bytes] of Object.entries(wires())) {
      expect([name, findNeedles(bytes, keyNeedles(secretBytes(wallet.secretKey)))]).toEqual([
        name,
        [],
      ]);
    }
    // The keys of the services are not in a text that a caller would log either.
    expect(leaks({ ...record, objects: [] }, API_KEYS)).toEqual([]);
    await Promise.all(record.objects.map((client) => closeIfClient(client)));
  });

  it('was searched in connections that carried all kinds of calls', () => {
    const { rpc: asked, jupiter: quoted, api: bought, socket: subscribed } = wires();
    expect(asked).toMatch(/sendTransaction/);
    expect(asked).toContain(RPC_KEY);
    expect(quoted).toMatch(/\/swap\/v1\/quote[\s\S]*swap-instructions/);
    expect(quoted).toContain(JUPITER_KEY);
    expect(bought).toMatch(/payment-signature: /i);
    expect(subscribed).toMatch(/signatureSubscribe/);
    // Each key goes only to its own service.
    expect(bought).not.toContain(RPC_KEY);
    expect(bought + asked).not.toContain(JUPITER_KEY);
    expect(quoted).not.toContain(RPC_KEY);
  });
});

async function closeIfClient(value: unknown): Promise<void> {
  const close: unknown =
    typeof value === 'object' && value !== null ? Reflect.get(value, 'close') : undefined;
  if (typeof close === 'function') await Reflect.apply(close, value, []);
}

describe('the key of a service', () => {
  const needles: readonly Needle[] = [{ name: 'the service’s key', text: SERVICE_KEY }];
  let service: RecordedService;
  let line: Tap;

  beforeAll(async () => {
    service = await startRecordedService(sandbox, { authorize: apiKeys([SERVICE_KEY]) });
    line = await tap(portOf(service.url));
  });
  afterEach(() => service.reset());
  afterAll(async () => {
    await line.close();
    await service.close();
  });

  const withKey = (wallet: SandboxWallet, apiUrl = at(line.port)): ClientOptions => ({
    ...{ walletSecretKey: wallet.secretKey, apiUrl, apiKey: SERVICE_KEY, swapFrom: ['SOL'] },
  });
  const elsewhere = () => findNeedles(rpc.sent + jupiter.sent + api.sent + socket.sent, needles);

  it('is sent to the service with each call, and appears nowhere else', async () => {
    const record = newTrace();
    const wallet = await sandbox.createWallet(FUNDS);
    await succeed(record, withKey(wallet));
    const interceptor = new HTTPInterceptor({
      ...withKey(wallet),
      rpcUrl: at(rpc.port),
      jupiterUrl: at(jupiter.port),
      autoSwap: true,
    });
    try {
      expect((await fetch(at(api.port, '/pyusd'))).status).toBe(200);
      record.objects.push(
        interceptor,
        interceptor.client,
        remote(at(line.port), { headers: { authorization: `Bearer ${SERVICE_KEY}` } }),
      );
    } finally {
      interceptor.restore();
      await interceptor.client.close();
    }
    expect(service.calls).toEqual(expect.arrayContaining(['x402/auto-pay', 'quote', 'balance']));
    expect(
      line.sent.match(new RegExp(`^authorization: Bearer ${SERVICE_KEY}\r$`, 'gim')),
    ).toHaveLength(service.calls.length);
    expect(leaks(record, needles)).toEqual([]);
    expect(elsewhere()).toEqual([]);
    expect(findNeedles(line.received, needles)).toEqual([]);
  });

  it('is in no error, and follows no redirect', async () => {
    const record = newTrace();
    const foreign = await tap(portOf(sandbox.apiUrl));
    const said: readonly (() => unknown)[] = [
      () => new Response(null, { status: 307, headers: { location: at(foreign.port, '/usdc') } }),
      () => new Response(null, { status: 302, headers: { location: at(foreign.port, '/usdc') } }),
      () => new Response('No.', { status: 401 }),
      () => new Response('No.', { status: 500 }),
      () => new Promise(() => undefined),
      () => 'nothing',
    ];
    for (const answer of said) {
      service.retell(answer);
      const client = clientOf(record, {
        ...withKey(await sandbox.createWallet(FUNDS)),
        timeouts: { service: 300 },
      });
      await failing(record, () => client.fetch(at(api.port, '/usdc')));
      await failing(record, () =>
        client.quote({ inputMint: 'SOL', outputMint: 'USDC', amount: 1_000n }),
      );
      await failing(record, () => client.balance());
      await client.close();
    }
    const gone = clientOf(record, withKey(await sandbox.createWallet(FUNDS), at(1)));
    await failing(record, () => gone.fetch(at(api.port, '/usdc')));
    await gone.close();
    expect(record.errors).toHaveLength(3 * said.length + 1);
    expect(leaks(record, needles)).toEqual([]);
    expect(elsewhere()).toEqual([]);
    expect(foreign.sent).toBe('');
    await foreign.close();
  });
});

describe('the search for leaks', () => {
  const pair = Uint8Array.from({ length: 64 }, (_, index) => (index * 37 + 11) % 256);
  const seed = pair.slice(0, 32);
  const needles = keyNeedles(pair);
  const text = (encoding: BufferEncoding, bytes = pair) => Buffer.from(bytes).toString(encoding);
  const spellings = (): readonly (readonly [string, unknown])[] => [
    // No program writes bytes in the forms that inspect() and JSON show, so those two are left out.
    ...needles
      .filter(({ name }) => !/^bytes (inspected|in JSON)$/.test(name))
      .map(({ name, text: needle }) => [name, needle] as const),
    ['hex', text('hex')],
    ['base64', text('base64')],
    ['base64 of the seed', text('base64', seed)],
    ['base64url', text('base64url')],
    ['base64 inside other bytes', Buffer.from([1, 2, ...pair, 3]).toString('base64')],
    ['JSON', JSON.stringify([...pair])],
    ['JSON with indents', JSON.stringify([...seed], null, 2)],
    ['bytes', pair],
    ['a Buffer', Buffer.from(seed)],
    ['an array', [...pair]],
    ['JSON of bytes', JSON.stringify(seed)],
  ];

  it.each(spellings())('finds a leak as %s in every place', (_, leak) => {
    const hidden = Object.defineProperty({}, 'secret', { value: leak, enumerable: false });
    const told = typeof leak === 'string' ? leak : inspect(leak, { maxArrayLength: null });
    const places: readonly unknown[] = [
      leak,
      { event: { deep: { deeper: [leak] } } },
      hidden,
      { [Symbol('secret')]: leak },
      new Map([['key', leak]]),
      new Set([leak]),
      {
        get key(): unknown {
          return leak;
        },
      },
      Object.assign(() => undefined, { leak }),
      new Error(`the key is ${told}`),
    ];
    places.forEach((place, index) =>
      expect([index, findNeedles(exposed(place), needles)]).not.toEqual([index, []]),
    );
    const nested = new Error('outer', {
      cause: new AggregateError([new TypeError('inner', { cause: { leak } })]),
    });
    expect(errorChain(nested).flatMap((link) => findNeedles(exposed(link), needles))).not.toEqual(
      [],
    );
  });

  it('finds nothing in public values', () => {
    expect(
      findNeedles(
        exposed({ address: text('hex', pair.slice(32)), list: [...pair.slice(32)] }),
        needles,
      ),
    ).toEqual([]);
  });

  it('finds leaks through a signer, a header, an address and a WebSocket', async () => {
    const wallet = await sandbox.createWallet({ USDC: '1' });
    const own = secretBytes(wallet.secretKey);
    const wanted = keyNeedles(own);
    const record = newTrace();
    const signer = {
      address: wallet.address,
      signMessage: () => Promise.reject(new Error(`cannot sign with ${wallet.secretKey}`)),
    };
    const careless = clientOf(record, { signer });
    await failing(record, () => careless.fetch(at(api.port, '/usdc')));
    expect(leaks(record, wanted)).toEqual([
      expect.stringMatching(/^keypair in base58 in an error/),
      expect.stringMatching(/^keypair in base58 in an error/),
    ]);

    const client = clientOf(record, { walletSecretKey: wallet.secretKey });
    await client.fetch(at(api.port, `/usdc?key=${Buffer.from(own).toString('hex')}`), {
      headers: { 'x-note': Buffer.from(own).toString('base64') },
    });
    expect(findNeedles(api.sent, wanted)).toEqual(expect.arrayContaining(['hex', 'base64 at 0']));
    expect(leaks({ ...newTrace(), journaled: record.journaled }, wanted).length).toBeGreaterThan(0);
    expect(leaks({ ...newTrace(), events: record.events }, wanted).length).toBeGreaterThan(0);

    const loose = new WebSocket(`ws://127.0.0.1:${socket.port}`);
    await new Promise((resolve) => loose.once('open', resolve));
    await new Promise<void>((resolve) =>
      loose.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x', params: [...own] }), () =>
        resolve(),
      ),
    );
    await new Promise((resolve) => loose.once('message', resolve));
    loose.terminate();
    expect(findNeedles(socket.sent, wanted)).toEqual(['list of numbers']);
    await Promise.all([careless.close(), client.close()]);
  });
});
