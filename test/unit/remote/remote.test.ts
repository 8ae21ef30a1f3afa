import { inspect } from 'node:util';
import { local, remote, type SwapRequest, type Transport } from 'exact-change';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
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

async function service(...answers: Answer[]): Promise<WireService> {
  const started = await startWireService(...answers);
  onTestFinished(() => started.close());
  return started;
}

/** Makes a transport to the service over a fake clock, so that waits take no time. */
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
const TIMEOUT_MS = 60_000;

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
    ['timeoutMs', 'https://pay.example.com', { timeoutMs: 0 }],
    ['timeoutMs', 'https://pay.example.com', { timeoutMs: '5' }],
    ['maxBodyBytes', 'https://pay.example.com', { maxBodyBytes: 0 }],
    ['fetch', 'https://pay.example.com', { fetch: 'fetch' }],
  ])('are refused with the name of the wrong argument %s: %j, %j', (option, baseUrl, options) => {
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
  ])('accept the base URL %s', (baseUrl) => {
    expect(Object.keys(remote(baseUrl)).sort()).toEqual([
      'autoPay',
      'balance',
      'buildSwap',
      'distant',
      'parsePayment',
      'quote',
    ]);
  });

  it('keep their headers out of an inspected transport', () => {
    expect(
      inspect(remote('https://pay.example.com', { headers: { 'x-api-key': 'hush' } }), {
        depth: 10,
        showHidden: true,
      }),
    ).not.toContain('hush');
  });
});

describe('a request', () => {
  it('uses the base path and the configured headers', async () => {
    const peer = await service(saysJson(QUOTE));
    const transport = remote(`${peer.url}/base/path/`, {
      headers: { Authorization: 'Bearer key' },
    });
    expect(await transport.quote(REQUEST)).toEqual(QUOTE);
    const [call] = peer.seen;
    expect([call?.method, call?.url]).toEqual([
      'GET',
      '/base/path/api/quote?inputMint=SOL&outputMint=USDC&amount=1000000&slippageBps=50',
    ]);
    expect(call?.headers).toMatchObject({
      authorization: 'Bearer key',
      accept: 'application/json, application/problem+json',
    });
  });

  it('sends JSON when it is a POST', async () => {
    const peer = await service(saysJson({ x402Version: 2, offers: [] }));
    expect(await over(peer).transport.parsePayment(PARTS)).toEqual({ x402Version: 2, offers: [] });
    const [call] = peer.seen;
    expect([call?.method, call?.url, call?.headers['content-type']]).toEqual([
      'POST',
      '/api/x402/parse-payment',
      'application/json',
    ]);
    expect(JSON.parse(call?.body ?? '')).toEqual(PARTS);
  });

  it('repeats the mint parameter per mint, and reads one balance or a list', async () => {
    const peer = await service(
      saysJson(BALANCE),
      saysJson([BALANCE, BALANCE]),
      saysJson([BALANCE, BALANCE, BALANCE]),
    );
    const { transport } = over(peer);
    expect(await transport.balance({ wallet: WALLET, mint: 'USDC' })).toEqual([BALANCE]);
    expect(await transport.balance({ wallet: WALLET, mint: ['USDC', 'SOL'] })).toEqual([
      BALANCE,
      BALANCE,
    ]);
    expect(await transport.balance({ wallet: WALLET })).toHaveLength(3);
    expect(peer.seen.map(({ url }) => url)).toEqual([
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
    ['a private key as the wallet', (transport) => transport.balance({ wallet: 'x'.repeat(88) })],
    [
      'an unknown field',
      (transport) => transport.quote({ ...REQUEST, walletSecretKey: 'hush' } as SwapRequest),
    ],
    ['a cyclic body', (transport) => transport.parsePayment({ body: cycle() })],
    [
      'an invalid quote',
      (transport) =>
        transport.buildSwap({ wallet: WALLET, quote: { ...QUOTE, inAmount: 'x' } as never }),
    ],
  ])('is refused before it is sent when it has %s', async (_, call) => {
    const peer = await service(saysJson({}));
    const error = await failureOf(call(over(peer).transport));
    expect(['invalid_option', 'quote_mismatch']).toContain(error.code);
    expect(peer.seen).toEqual([]);
  });

  it('drops fields of the answer that the interface does not define', async () => {
    const peer = await service(saysJson({ ...QUOTE, tip: 'send it all' }));
    expect(await over(peer).transport.quote(REQUEST)).toEqual(QUOTE);
  });
});

function cycle(): object {
  const value: { self?: object } = {};
  value.self = value;
  return value;
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
  it.each(SAFE)('retries %s after a 503 and a lost connection', async (_, call, answer) => {
    const peer = await service(says(503, 'text/html', '<h1>Busy</h1>'), hangsUp, saysJson(answer));
    expect(await call(over(peer).transport)).toEqual(answer);
    expect(peer.seen).toHaveLength(3);
  });

  it.each([429, 421, 500, 502, 504])('fails after the third %i', async (status) => {
    const peer = await service(says(status, 'text/plain', 'no'));
    const error = await failureOf(over(peer).transport.quote(REQUEST));
    expect(error).toMatchObject(
      status === 429
        ? { code: 'rate_limited', details: { retryAfterMs: 10_000 } }
        : { code: 'service_unavailable', details: { status }, retry: 'fresh' },
    );
    // fetch itself repeats a request after a 421, over a new connection.
    expect(peer.seen).toHaveLength(status === 421 ? 6 : 3);
  });

  it('waits as long as Retry-After states, and at most ten seconds', async () => {
    const peer = await service(
      saysProblem(
        429,
        'rate_limited',
        { details: { retryAfterMs: 3_000 } },
        { 'retry-after': '3' },
      ),
      says(503, 'text/plain', '', { 'retry-after': '999999999' }),
      saysJson(QUOTE),
    );
    const { transport, runtime } = over(peer);
    expect(await transport.quote(REQUEST)).toEqual(QUOTE);
    expect(runtime.slept).toEqual([3_000, 10_000]);
  });

  it('rejects with the problem of the service after the last retry', async () => {
    const peer = await service(
      saysProblem(503, 'rpc_unavailable', { details: { method: 'getSlot' } }),
    );
    expect(await failureOf(over(peer).transport.quote(REQUEST))).toMatchObject({
      code: 'rpc_unavailable',
      details: { method: 'getSlot' },
      untrusted: { detail: 'It failed for a reason.' },
    });
    expect(peer.seen).toHaveLength(3);
  });

  it('is not retried when the problem advises never to retry', async () => {
    const peer = await service(
      saysProblem(503, 'jupiter_unavailable', { details: { status: 401 }, retry: 'never' }),
    );
    await failureOf(over(peer).transport.quote(REQUEST), 'jupiter_unavailable');
    expect(peer.seen).toHaveLength(1);
  });

  it.each<[string, Answer]>([
    ['another content type', says(200, 'text/plain', JSON.stringify(QUOTE))],
    ['status 204', says(204, 'application/json', '')],
    ['status 206', says(206, 'application/json', JSON.stringify(QUOTE))],
  ])('is not answered by the right words with %s', async (_, answer) => {
    const peer = await service(answer);
    await failureOf(over(peer).transport.quote(REQUEST), 'invalid_response');
    expect(peer.seen).toHaveLength(1);
  });

  it.each([400, 401, 403, 404, 422])('is not retried after a %i', async (status) => {
    const peer = await service(says(status, 'text/html', '<h1>No</h1>'));
    const error = await failureOf(over(peer).transport.quote(REQUEST), 'invalid_response');
    expect(error.details).toEqual({
      service: 'service',
      reason: `it has status ${status} and no JSON of a service; check the address`,
    });
    expect(peer.seen).toHaveLength(1);
  });
});

describe('a call with a signed transaction', () => {
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
    ['broken JSON', says(200, 'application/json', '{"state":'), 'invalid_response'],
    ['an unexpected answer', saysJson({ state: 'paid' }), 'invalid_response'],
    ['a 404 that is not a problem', says(404, 'text/plain', 'no'), 'invalid_response'],
    [
      'an already_spent that the service cannot know',
      saysProblem(409, 'already_spent', { details: { payerSignature: 'x' } }),
      'invalid_response',
    ],
    ['an internal error', saysProblem(500, 'internal_error'), 'invalid_response'],
    ['a 401', saysProblem(401, 'unauthorized', { retry: 'never' }), 'invalid_response'],
    ['a 404', saysProblem(404, 'not_found', { retry: 'never' }), 'invalid_response'],
    ['a 408', saysProblem(408, 'request_timeout'), 'invalid_response'],
    [
      'a 503 that refuses',
      saysProblem(503, 'unauthorized', { retry: 'never' }),
      'invalid_response',
    ],
    [
      'a refusal',
      saysProblem(422, 'no_route', { details: { inputMint: 'a', outputMint: 'b' } }),
      'no_route',
    ],
    [
      'an answer that is too long',
      says(200, 'application/json', ' '.repeat(100_001)),
      'invalid_response',
    ],
  ];
  it.each(
    calls.flatMap(([name, call]) =>
      lost.map(([what, answer, code]) => [name, what, call, answer, code] as const),
    ),
  )(
    'sends %s once, and reports funds as uncertain after %s',
    async (_name, _what, call, answer, code) => {
      const peer = await service(answer);
      const error = await failureOf(call(over(peer).transport));
      expect({ ...error.toJSON(), message: '' }).toMatchObject({
        code,
        funds: 'uncertain',
        retry: 'same',
        moved: [],
      });
      expect(peer.seen).toHaveLength(1);
    },
  );

  it.each(['swap_required', 'swap_submitted', 'ready_to_sign', 'insufficient_funds'])(
    'reports a signed payment as uncertain when the service plans anew, with %s',
    async (state) => {
      const offer = { index: 0, x402Version: 2, payable: true };
      const peer = await service(saysJson({ state, offer }));
      const request = { paymentRequired: PARTS, wallet: WALLET, signedPayment: SIGNED };
      const error = await failureOf(over(peer).transport.autoPay(request), 'invalid_response');
      expect([error.funds, error.retry]).toEqual(['uncertain', 'same']);
      expect(error.details.reason).toContain('another payment');
    },
  );

  it('rejects with the swap failure that the service reports', async () => {
    const signature = '5'.repeat(88);
    const peer = await service(
      saysProblem(422, 'swap_failed', {
        details: { signature, reason: 'Custom 1', feeLamports: '5000' },
      }),
    );
    const call = over(peer).transport.autoPay({
      paymentRequired: PARTS,
      wallet: WALLET,
      signedSwap: SIGNED,
    });
    expect(await failureOf(call, 'swap_failed')).toMatchObject({
      details: { signature, feeLamports: '5000' },
      funds: 'untouched',
    });
  });

  it.each<[string, Answer, string]>([
    [
      'a swap failed',
      saysProblem(422, 'swap_failed', {
        details: { signature: '5'.repeat(88), reason: 'Custom 1', feeLamports: '5000' },
      }),
      'invalid_response',
    ],
    [
      'a swap expired',
      saysProblem(409, 'swap_expired', { details: { signature: '5'.repeat(88) } }),
      'invalid_response',
    ],
    [
      'only a swap landed',
      saysProblem(422, 'no_route', {
        details: { inputMint: 'a', outputMint: 'b' },
        funds: 'swapped',
      }),
      'no_route',
    ],
  ])(
    'reports a signed payment as uncertain when the service says that %s',
    async (_, lie, code) => {
      const peer = await service(lie);
      const call = over(peer).transport.autoPay({
        ...{ paymentRequired: PARTS, wallet: WALLET, signedSwap: SIGNED, signedPayment: SIGNED },
      });
      const error = await failureOf(call);
      expect(error).toMatchObject({ code, funds: 'uncertain', retry: 'same' });
      expect(peer.seen).toHaveLength(1);
    },
  );

  it('stays uncertain when the service refuses its repeat', async () => {
    const peer = await service(hangsUp, saysProblem(401, 'unauthorized', { retry: 'never' }));
    const { transport } = over(peer);
    for (const [, call] of calls) {
      const error = await failureOf(call(transport));
      expect(error).toMatchObject({ funds: 'uncertain', retry: 'same' });
    }
    expect(peer.seen).toHaveLength(2);
  });

  it('reports funds as uncertain at its timeout', async () => {
    const peer = await service(() => undefined);
    const transport = remote(peer.url, { timeoutMs: 50 });
    const call = transport.autoPay({ paymentRequired: PARTS, wallet: WALLET, signedSwap: SIGNED });
    expect(await failureOf(call, 'timeout')).toMatchObject({
      funds: 'uncertain',
      retry: 'same',
      details: { step: 'service', timeoutMs: 50 },
    });
  });
});

describe('a remote transport', () => {
  it('ends a call at its deadline, which covers all retries', async () => {
    const peer = await service(() => undefined);
    const error = await failureOf(remote(peer.url, { timeoutMs: 50 }).quote(REQUEST), 'timeout');
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
    const runtime = fakeRuntime(9_000);
    const sleep = vi.spyOn(runtime, 'sleep');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const call = failureOf(over(patient, { runtime }).transport.quote(REQUEST), 'timeout');
    await expect.poll(() => sleep).toHaveBeenCalledOnce();
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS);
    await call;
    expect(patient.seen).toHaveLength(1);
  });

  it('rejects with the reason of an aborted signal', async () => {
    const reason = new Error('enough');
    const controller = new AbortController();
    const peer = await service(() => controller.abort(reason));
    await expect(remote(peer.url).quote(REQUEST, { signal: controller.signal })).rejects.toBe(
      reason,
    );
    await expect(remote(peer.url).quote(REQUEST, { signal: controller.signal })).rejects.toBe(
      reason,
    );
    expect(peer.seen).toHaveLength(1);
  });

  it.each([301, 302, 303, 307, 308])(
    'does not follow a %i, which would send the headers to another server',
    async (status) => {
      const elsewhere = await service(saysJson(QUOTE));
      const peer = await service(
        says(status, 'text/plain', '', { location: `${elsewhere.url}/api/quote` }),
      );
      const transport = over(peer, { headers: { authorization: 'Bearer key' } }).transport;
      await failureOf(transport.quote(REQUEST), 'service_unavailable');
      await failureOf(transport.parsePayment(PARTS), 'service_unavailable');
      expect(elsewhere.seen).toEqual([]);
    },
  );

  it('refuses an answer longer than maxBodyBytes', async () => {
    const text = JSON.stringify({ ...QUOTE, raw: 'x'.repeat(5_000) });
    const peer = await service(says(200, 'application/json', text));
    expect(await remote(peer.url, { maxBodyBytes: text.length }).quote(REQUEST)).toMatchObject({
      inAmount: '1000000',
    });
    const error = await failureOf(
      remote(peer.url, { maxBodyBytes: text.length - 1 }).quote(REQUEST),
      'invalid_response',
    );
    expect(error.details.reason).toBe(`it is longer than ${text.length - 1} bytes`);
  });

  it('has every operation of the local transport except close, resume and swapInstruction', () => {
    const both = [remote('https://pay.example.com'), local({ network: SOLANA_MAINNET })].map(
      (transport) => Object.keys(transport).sort(),
    );
    expect(both[1]?.filter((name) => !both[0]?.includes(name))).toEqual([
      'close',
      'resume',
      'swapInstruction',
    ]);
  });
});
