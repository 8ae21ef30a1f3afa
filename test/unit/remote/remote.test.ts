import { inspect } from 'node:util';
import { local, remote, type SwapRequest, type Transport } from 'exact-change';
import { afterEach, describe, expect, it } from 'vitest';
import { createRemote } from '../../../adapters/remote/operations.js';
import type { RemoteSettings } from '../../../adapters/remote/lazily.js';
import { SOLANA_MAINNET, WSOL_MINT } from '../../../src/network.js';
import { failureOf } from '../../helpers/payer.js';
import {
  hangsUp,
  says,
  saysJson,
  saysProblem,
  startWireService,
  type Answer,
  type WireService,
} from '../../helpers/wire-service.js';
import { fakeRuntime } from '../swaps/support.js';

const WALLET = '7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU';
const REQUEST: SwapRequest = {
  inputMint: 'SOL',
  outputMint: 'USDC',
  amount: 1_000_000n,
  slippageBps: 50,
};
const QUOTE = {
  ...{
    inputMint: WSOL_MINT,
    outputMint: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
    swapMode: 'ExactIn',
  },
  ...{
    inAmount: '1000000',
    outAmount: '148000',
    minOutAmount: '147260',
    maxInAmount: '1000000',
    slippageBps: 50,
  },
  ...{
    priceImpactBps: 0.1,
    platformFeeBps: 0,
    route: ['Venue'],
    provider: 'jupiter-v1',
    quotedAt: 1_800_000_000_000,
    raw: { a: 1 },
  },
};
const BALANCE = {
  ...{ mint: QUOTE.outputMint, amount: '1500000', decimals: 6, uiAmount: '1.5' },
  ...{ tokenProgram: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', tokenAccount: WALLET, slot: 5 },
};
const PARTS = { status: 402, headers: { 'payment-required': 'e30=' }, body: '{}' };
const SIGNED = Buffer.alloc(200, 1).toString('base64');

const services: WireService[] = [];
afterEach(async () => {
  await Promise.all(services.splice(0).map((one) => one.close()));
});

async function service(...answers: Answer[]): Promise<WireService> {
  const one = await startWireService(...answers);
  services.push(one);
  return one;
}

/** Over a clock that jumps: waits take no time. */
function over({ url }: WireService, change: Partial<RemoteSettings> = {}) {
  const runtime = fakeRuntime(TIMEOUT_MS);
  const settings = {
    baseUrl: url,
    fetch,
    headers: {},
    timeoutMs: TIMEOUT_MS,
    maxBodyBytes: 100_000,
    runtime,
    ...change,
  };
  return { transport: createRemote(settings), runtime };
}
const TIMEOUT_MS = 20_000;

describe('the arguments of remote()', () => {
  it.each([
    ['baseUrl', 'http://pay.example.com', {}],
    ['baseUrl', 'pay.example.com', {}],
    ['baseUrl', 'wss://pay.example.com', {}],
    ['baseUrl', 'https://user:hush@pay.example.com', {}],
    ['baseUrl', 'https://pay.example.com/?key=hush', {}],
    ['baseUrl', 'https://pay.example.com/#hush', {}],
    ['baseUrl', 'http://127.0.0.1.evil.example', {}],
    ['baseUrl', 'http://localhost.evil.example', {}],
    ['baseUrl', 5, {}],
    ['baseUrl', undefined, {}],
    ['header', 'https://pay.example.com', { header: {} }],
    ['options', 'https://pay.example.com', null],
    ['headers', 'https://pay.example.com', { headers: { authorization: undefined } }],
    ['headers', 'https://pay.example.com', { headers: { authorization: 'hush\r\nx: y' } }],
    ['headers', 'https://pay.example.com', { headers: { 'hush hush': 'x' } }],
    ['headers', 'https://pay.example.com', { headers: 'hush' }],
    ['timeoutMs', 'https://pay.example.com', { timeoutMs: -1 }],
    ['timeoutMs', 'https://pay.example.com', { timeoutMs: '5' }],
    ['maxBodyBytes', 'https://pay.example.com', { maxBodyBytes: 0 }],
    ['fetch', 'https://pay.example.com', { fetch: 'fetch' }],
  ])('are refused by the name of the wrong one: %s (%j, %j)', (option, baseUrl, options) => {
    let caught: unknown;
    try {
      (remote as (...args: unknown[]) => unknown)(baseUrl, options);
    } catch (error) {
      caught = error;
    }
    expect(caught).toMatchObject({
      code: 'invalid_option',
      details: { option },
      name: 'ConfigError',
    });
    expect(inspect(caught, { depth: 10 })).not.toContain('hush');
  });

  it.each([
    'https://pay.example.com',
    'http://localhost:3000',
    'http://127.0.0.1/pay',
    'http://[::1]:8080/',
  ])('take %s', (baseUrl) => {
    expect(Object.keys(remote(baseUrl)).sort()).toEqual([
      'autoPay',
      'balance',
      'buildSwap',
      'distant',
      'parsePayment',
      'quote',
    ]);
  });

  it('show no header of theirs', () => {
    expect(
      inspect(remote('https://pay.example.com', { headers: { 'x-api-key': 'hush' } }), {
        depth: 10,
        showHidden: true,
      }),
    ).not.toContain('hush');
  });
});

describe('a request', () => {
  it('goes below the base path, with the headers that were given', async () => {
    const one = await service(saysJson(QUOTE));
    const transport = remote(`${one.url}/base/path/`, { headers: { Authorization: 'Bearer key' } });
    expect(await transport.quote(REQUEST)).toEqual(QUOTE);
    const [call] = one.seen;
    expect([call?.method, call?.url]).toEqual([
      'GET',
      '/base/path/api/quote?inputMint=SOL&outputMint=USDC&amount=1000000&slippageBps=50',
    ]);
    expect(call?.headers).toMatchObject({
      authorization: 'Bearer key',
      accept: 'application/json, application/problem+json',
    });
  });

  it('that is a POST brings JSON', async () => {
    const one = await service(saysJson({ x402Version: 2, offers: [] }));
    expect(await over(one).transport.parsePayment(PARTS)).toEqual({ x402Version: 2, offers: [] });
    const [call] = one.seen;
    expect([call?.method, call?.url, call?.headers['content-type']]).toEqual([
      'POST',
      '/api/x402/parse-payment',
      'application/json',
    ]);
    expect(JSON.parse(call?.body ?? '')).toEqual(PARTS);
  });

  it('names each of several mints, and takes one balance or a list', async () => {
    const one = await service(
      saysJson(BALANCE),
      saysJson([BALANCE, BALANCE]),
      saysJson([BALANCE, BALANCE, BALANCE]),
    );
    const { transport } = over(one);
    expect(await transport.balance({ wallet: WALLET, mint: 'USDC' })).toEqual([BALANCE]);
    expect(await transport.balance({ wallet: WALLET, mint: ['USDC', 'SOL'] })).toEqual([
      BALANCE,
      BALANCE,
    ]);
    expect(await transport.balance({ wallet: WALLET })).toHaveLength(3);
    expect(one.seen.map(({ url }) => url)).toEqual([
      `/api/balance?wallet=${WALLET}&mint=USDC`,
      `/api/balance?wallet=${WALLET}&mint=USDC&mint=SOL`,
      `/api/balance?wallet=${WALLET}`,
    ]);
    await failureOf(
      transport.balance({ wallet: WALLET, mint: ['USDC', 'SOL'] }),
      'invalid_response',
    );
  });

  it.each<[string, (transport: Transport) => Promise<unknown>]>([
    ['a key for a wallet', (transport) => transport.balance({ wallet: 'x'.repeat(88) })],
    [
      'a field that is not known',
      (transport) => transport.quote({ ...REQUEST, walletSecretKey: 'hush' } as SwapRequest),
    ],
    ['what no JSON holds', (transport) => transport.parsePayment({ body: cycle() })],
    [
      'a quote that is none',
      (transport) =>
        transport.buildSwap({ wallet: WALLET, quote: { ...QUOTE, inAmount: 'x' } as never }),
    ],
  ])('that is wrong never leaves: %s', async (_, call) => {
    const one = await service(saysJson({}));
    const error = await failureOf(call(over(one).transport));
    expect(['invalid_option', 'quote_mismatch']).toContain(error.code);
    expect(one.seen).toEqual([]);
  });

  it('drops what an answer has beyond the interface', async () => {
    const one = await service(saysJson({ ...QUOTE, tip: 'send it all' }));
    expect(await over(one).transport.quote(REQUEST)).toEqual(QUOTE);
  });
});

function cycle(): object {
  const one: { self?: object } = {};
  one.self = one;
  return one;
}

const SAFE: readonly (readonly [string, (transport: Transport) => Promise<unknown>, unknown])[] = [
  ['quote', (transport) => transport.quote(REQUEST), QUOTE],
  ['balance', (transport) => transport.balance({ wallet: WALLET }), []],
  [
    'buildSwap',
    (transport) => transport.buildSwap({ wallet: WALLET, quote: QUOTE as never }),
    {
      transaction: SIGNED,
      lastValidBlockHeight: '5',
      quote: QUOTE,
      computeUnitLimit: 1,
      priorityFeeLamports: '0',
    },
  ],
  ['parsePayment', (transport) => transport.parsePayment(PARTS), { x402Version: 2, offers: [] }],
  [
    'autoPay',
    (transport) => transport.autoPay({ paymentRequired: PARTS, wallet: WALLET }),
    { state: 'insufficient_funds', offer: { index: 0, x402Version: 2, payable: false } },
  ],
];

describe('a call that changes nothing', () => {
  it.each(SAFE)('is tried again after a 503 and a lost connection: %s', async (_, call, answer) => {
    const one = await service(says(503, 'text/html', '<h1>Busy</h1>'), hangsUp, saysJson(answer));
    expect(await call(over(one).transport)).toEqual(answer);
    expect(one.seen).toHaveLength(3);
  });

  it.each([429, 421, 500, 502, 504])('is given up after a third %i', async (status) => {
    const one = await service(says(status, 'text/plain', 'no'));
    const error = await failureOf(over(one).transport.quote(REQUEST));
    expect(error).toMatchObject(
      status === 429
        ? { code: 'rate_limited', details: { retryAfterMs: 10_000 } }
        : { code: 'service_unavailable', details: { status }, retry: 'fresh' },
    );
    // fetch itself asks once more after a 421, over a connection of its own.
    expect(one.seen).toHaveLength(status === 421 ? 6 : 3);
  });

  it('waits as it is asked to, and never longer than ten seconds', async () => {
    const one = await service(
      saysProblem(
        429,
        'rate_limited',
        { details: { retryAfterMs: 3_000 } },
        { 'retry-after': '3' },
      ),
      says(503, 'text/plain', '', { 'retry-after': '999999999' }),
      saysJson(QUOTE),
    );
    const { transport, runtime } = over(one);
    expect(await transport.quote(REQUEST)).toEqual(QUOTE);
    expect(runtime.slept).toEqual([3_000, 10_000]);
  });

  it('is the service’s last word if that is a problem', async () => {
    const one = await service(
      saysProblem(503, 'rpc_unavailable', { details: { method: 'getSlot' } }),
    );
    expect(await failureOf(over(one).transport.quote(REQUEST))).toMatchObject({
      code: 'rpc_unavailable',
      details: { method: 'getSlot' },
      untrusted: { detail: 'It failed for a reason.' },
    });
    expect(one.seen).toHaveLength(3);
  });

  it('is not tried again if the service says that this changes nothing', async () => {
    const one = await service(
      saysProblem(503, 'jupiter_unavailable', { details: { status: 401 }, retry: 'never' }),
    );
    await failureOf(over(one).transport.quote(REQUEST), 'jupiter_unavailable');
    expect(one.seen).toHaveLength(1);
  });

  it.each([400, 401, 403, 404, 422])('is not tried again after a %i', async (status) => {
    const one = await service(says(status, 'text/html', '<h1>No</h1>'));
    const error = await failureOf(over(one).transport.quote(REQUEST), 'invalid_response');
    expect(error.details).toEqual({
      service: 'service',
      reason: `it has status ${status}, and is no problem of this interface`,
    });
    expect(one.seen).toHaveLength(1);
  });
});

describe('a call with something signed in it', () => {
  const calls: readonly (readonly [string, (transport: Transport) => Promise<unknown>])[] = (
    ['signedSwap', 'signedPayment'] as const
  ).map((name) => [
    name,
    (transport) => transport.autoPay({ paymentRequired: PARTS, wallet: WALLET, [name]: SIGNED }),
  ]);
  const lost: readonly (readonly [string, Answer, string])[] = [
    ['a lost connection', hangsUp, 'service_unavailable'],
    ['a 503', says(503, 'text/plain', 'no'), 'service_unavailable'],
    ['a 429', says(429, 'text/plain', 'no'), 'rate_limited'],
    ['nonsense', says(200, 'application/json', '{"state":'), 'invalid_response'],
    ['another answer', saysJson({ state: 'paid' }), 'invalid_response'],
    ['a 404 that is no problem', says(404, 'text/plain', 'no'), 'invalid_response'],
    [
      'a claim of what it cannot know',
      saysProblem(409, 'already_spent', { details: { payerSignature: 'x' } }),
      'invalid_response',
    ],
    ['a failure of its own', saysProblem(500, 'internal_error'), 'invalid_response'],
    ['too long an answer', says(200, 'application/json', ' '.repeat(100_001)), 'invalid_response'],
  ];
  it.each(
    calls.flatMap(([name, call]) =>
      lost.map(([what, answer, code]) => [name, what, call, answer, code] as const),
    ),
  )(
    'is made once, and after %s and %s what was signed may still land',
    async (_name, _what, call, answer, code) => {
      const one = await service(answer);
      const error = await failureOf(call(over(one).transport));
      expect({ ...error.toJSON(), message: '' }).toMatchObject({
        code,
        funds: 'uncertain',
        retry: 'same',
        moved: [],
      });
      expect(one.seen).toHaveLength(1);
    },
  );

  it('says what the service knows of the swap', async () => {
    const signature = '5'.repeat(88);
    const one = await service(
      saysProblem(422, 'swap_failed', {
        details: { signature, reason: 'Custom 1', feeLamports: '5000' },
      }),
    );
    const call = over(one).transport.autoPay({
      paymentRequired: PARTS,
      wallet: WALLET,
      signedSwap: SIGNED,
    });
    expect(await failureOf(call, 'swap_failed')).toMatchObject({
      details: { signature, feeLamports: '5000' },
      funds: 'untouched',
    });
  });

  it('may still land if time is up', async () => {
    const one = await service(() => undefined);
    const transport = remote(one.url, { timeoutMs: 50 });
    const call = transport.autoPay({ paymentRequired: PARTS, wallet: WALLET, signedSwap: SIGNED });
    expect(await failureOf(call, 'timeout')).toMatchObject({
      funds: 'uncertain',
      retry: 'same',
      details: { step: 'service', timeoutMs: 50 },
    });
  });
});

describe('time and place', () => {
  it('ends a call at its deadline, all tries together', async () => {
    const one = await service(() => undefined);
    const error = await failureOf(remote(one.url, { timeoutMs: 50 }).quote(REQUEST), 'timeout');
    expect(error).toMatchObject({
      details: { step: 'service', timeoutMs: 50 },
      funds: 'untouched',
      retry: 'fresh',
    });
    const slow = await service(
      (response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{'),
    );
    await failureOf(remote(slow.url, { timeoutMs: 50 }).quote(REQUEST), 'timeout');
    const patient = await service(says(429, 'text/plain', '', { 'retry-after': '9' }));
    await failureOf(remote(patient.url, { timeoutMs: 50 }).quote(REQUEST), 'timeout');
    expect(patient.seen).toHaveLength(1);
  });

  it('rejects with the reason of a signal', async () => {
    const reason = new Error('enough');
    const controller = new AbortController();
    const one = await service(() => controller.abort(reason));
    await expect(remote(one.url).quote(REQUEST, { signal: controller.signal })).rejects.toBe(
      reason,
    );
    await expect(remote(one.url).quote(REQUEST, { signal: controller.signal })).rejects.toBe(
      reason,
    );
    expect(one.seen).toHaveLength(1);
  });

  it.each([301, 302, 303, 307, 308])(
    'follows no %i: it would carry the headers to another place',
    async (status) => {
      const elsewhere = await service(saysJson(QUOTE));
      const one = await service(
        says(status, 'text/plain', '', { location: `${elsewhere.url}/api/quote` }),
      );
      const transport = over(one, { headers: { authorization: 'Bearer key' } }).transport;
      await failureOf(transport.quote(REQUEST), 'service_unavailable');
      await failureOf(transport.parsePayment(PARTS), 'service_unavailable');
      expect(elsewhere.seen).toEqual([]);
    },
  );

  it('reads no answer that is longer than it may be, packed or not', async () => {
    const text = JSON.stringify({ ...QUOTE, raw: 'x'.repeat(5_000) });
    const one = await service(says(200, 'application/json', text));
    expect(await remote(one.url, { maxBodyBytes: text.length }).quote(REQUEST)).toMatchObject({
      inAmount: '1000000',
    });
    const error = await failureOf(
      remote(one.url, { maxBodyBytes: text.length - 1 }).quote(REQUEST),
      'invalid_response',
    );
    expect(error.details.reason).toBe(`it is longer than ${text.length - 1} bytes`);
  });

  it('has the operations of the local transport, but for one that only saves a step, and what a journal of its own wants', () => {
    const both = [remote('https://pay.example.com'), local({ network: SOLANA_MAINNET })].map(
      (one) => Object.keys(one).sort(),
    );
    expect(both[1]?.filter((name) => !both[0]?.includes(name))).toEqual([
      'close',
      'resume',
      'swapInstruction',
    ]);
  });
});
