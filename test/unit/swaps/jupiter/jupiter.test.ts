import { SwapApi } from '@jup-ag/api';
import { http as route, HttpResponse, type JsonBodyType } from 'msw';
import { setupServer } from 'msw/node';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createJupiterHttp } from '../../../../src/swaps/jupiter/http.js';
import { createJupiterV1 } from '../../../../src/swaps/jupiter/v1.js';
import { createJupiterV2 } from '../../../../src/swaps/jupiter/v2.js';
import type { QuoteIntent, SwapProvider } from '../../../../src/swaps/provider.js';
import { fakeRuntime, someKey, STRANGER, USDC, USDT, WALLET } from '../support.js';

const BASE = 'https://jupiter.test';
const DEADLINE = 9_999;
const server = setupServer();
/** Every request of a test: URL, key header and body. */
let requests: { url: URL; key: string | null; body: string }[] = [];

beforeAll(() => server.listen({ onUnhandledRequest: 'error' }));
beforeEach(() => {
  requests = [];
});
afterEach(() => {
  server.resetHandlers();
  // The quote is sent back verbatim, also its `platformFee: null`, so only our fields are checked.
  const ours = (body: string) =>
    JSON.stringify({ ...JSON.parse(body === '' ? '{}' : body), quoteResponse: undefined });
  for (const { url, body } of requests)
    expect(`${url.href} ${ours(body)}`).not.toMatch(
      /fee|referral|tracking|tip|integrator|positive/i,
    );
});
afterAll(() => server.close());

type Answer = JsonBodyType | (() => Response);

function serve(path: string, ...answers: Answer[]) {
  let next = 0;
  server.use(
    route.all(`${BASE}${path}`, async ({ request }): Promise<Response> => {
      requests.push({
        url: new URL(request.url),
        key: request.headers.get('x-api-key'),
        body: await request.clone().text(),
      });
      const answer = answers[Math.min(next++, answers.length - 1)];
      if (answer instanceof Function) return answer();
      return HttpResponse.json(answer ?? null);
    }),
  );
}

const runtime = fakeRuntime(DEADLINE);
const http = createJupiterHttp({ timeoutMs: DEADLINE, runtime });
const v1 = (apiKey?: string) => createJupiterV1({ baseUrl: BASE, apiKey, http, runtime });
const v2 = (apiKey?: string) =>
  createJupiterV2({ baseUrl: BASE, apiKey, http, runtime, taker: WALLET });

const EXACT_IN: QuoteIntent = {
  inputMint: USDC,
  outputMint: USDT,
  amount: 18_446_744_073_709_551_615n,
  swapMode: 'ExactIn',
  slippageBps: 50,
};
const EXACT_OUT: QuoteIntent = {
  ...EXACT_IN,
  amount: 1_000_000n,
  swapMode: 'ExactOut',
  slippageBps: 100,
};

const QUOTE = {
  ...{
    inputMint: USDC,
    outputMint: USDT,
    inAmount: '18446744073709551615',
    outAmount: '1940638',
    otherAmountThreshold: '1930934',
  },
  ...{
    swapMode: 'ExactIn',
    slippageBps: 50,
    platformFee: null,
    priceImpactPct: '0.00012',
    contextSlot: 5,
    timeTaken: 0.1,
  },
  routePlan: [
    {
      swapInfo: { ammKey: STRANGER, label: 'Whirl\u202epool', inputMint: USDC, outputMint: USDT },
      percent: null,
      bps: 10_000,
    },
  ],
  ...{ instructionVersion: 'V2', swapUsdValue: '1.5', somethingNew: { deep: [1, null] } },
};
const OUT_QUOTE = {
  ...QUOTE,
  inAmount: '4380137',
  outAmount: '1000000',
  otherAmountThreshold: '4423939',
  swapMode: 'ExactOut',
  slippageBps: 100,
};
const SWAP_INSTRUCTION = {
  programId: 'JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4',
  accounts: [{ pubkey: WALLET, isSigner: true, isWritable: false }],
  data: 'AQID',
};
const INSTRUCTIONS = {
  ...{
    computeBudgetInstructions: [],
    setupInstructions: [{ evil: true }],
    cleanupInstruction: { evil: true },
    otherInstructions: [{ evil: true }],
  },
  ...{
    swapInstruction: SWAP_INSTRUCTION,
    addressLookupTableAddresses: [someKey(90), someKey(90), someKey(91)],
    simulationError: null,
  },
};
const BUILD = {
  ...QUOTE,
  ...INSTRUCTIONS,
  addressLookupTableAddresses: undefined,
  tipInstruction: null,
  addressesByLookupTableAddress: { [someKey(90)]: [STRANGER] },
  transactionVersion: 0,
};

describe('the v1 provider', () => {
  it('asks for amounts as strings, V2 instructions and no fee', async () => {
    serve('/swap/v1/quote', QUOTE);
    const quote = await v1().quote({ ...EXACT_IN, maxAccounts: 32 });
    expect(Object.fromEntries(requests[0]?.url.searchParams ?? [])).toEqual({
      ...{
        inputMint: USDC,
        outputMint: USDT,
        amount: '18446744073709551615',
        slippageBps: '50',
        swapMode: 'ExactIn',
      },
      ...{ restrictIntermediateTokens: 'true', instructionVersion: 'V2', maxAccounts: '32' },
    });
    expect(quote).toMatchObject({
      ...{
        inAmount: '18446744073709551615',
        maxInAmount: '18446744073709551615',
        outAmount: '1940638',
        minOutAmount: '1930934',
      },
      ...{
        priceImpactBps: 2,
        platformFeeBps: 0,
        provider: 'jupiter-v1',
        route: ['Whirl pool'],
        quotedAt: runtime.now(),
      },
    });
    expect(quote.raw).toEqual(QUOTE);
  });

  it('bounds amounts by its own arithmetic when the threshold is better than the slippage allows', async () => {
    serve(
      '/swap/v1/quote',
      OUT_QUOTE,
      { ...OUT_QUOTE, otherAmountThreshold: '4380137' },
      { ...OUT_QUOTE, otherAmountThreshold: '9999999' },
    );
    const most = async () => (await v1().quote(EXACT_OUT)).maxInAmount;
    expect([await most(), await most(), await most()]).toEqual(['4423939', '4423939', '9999999']);
    serve(
      '/swap/v1/quote',
      { ...QUOTE, otherAmountThreshold: '1940638' },
      { ...QUOTE, otherAmountThreshold: '1' },
    );
    const least = async () => (await v1().quote(EXACT_IN)).minOutAmount;
    expect([await least(), await least()]).toEqual(['1930934', '1']);
  });

  it('sends the quote back verbatim with unknown fields and nulls, and takes only the swap instruction', async () => {
    serve('/swap/v1/quote', QUOTE);
    serve('/swap/v1/swap-instructions', INSTRUCTIONS);
    const provider = v1();
    const build = await provider.build(await provider.quote(EXACT_IN), WALLET);
    expect(JSON.parse(requests[1]?.body ?? '')).toEqual({
      userPublicKey: WALLET,
      quoteResponse: QUOTE,
      wrapAndUnwrapSol: false,
    });
    expect(build).toEqual({
      instruction: {
        program: SWAP_INSTRUCTION.programId,
        accounts: [{ address: WALLET, signer: true, writable: false }],
        data: Uint8Array.of(1, 2, 3),
      },
      lookupTables: [someKey(90), someKey(91)],
    });
  });

  it('refuses a quote that is nested too deeply to be sent back', async () => {
    const deep = '['.repeat(20_000) + ']'.repeat(20_000);
    const quote = JSON.stringify(QUOTE).replace(/}$/, `,"deep":${deep}}`);
    serve('/swap/v1/quote', () => new HttpResponse(quote));
    serve('/swap/v1/swap-instructions', INSTRUCTIONS);
    const provider = v1();
    const building = provider.quote(EXACT_IN).then((given) => provider.build(given, WALLET));
    await expect(building).rejects.toMatchObject({ code: 'invalid_response', funds: 'untouched' });
  });

  it('matches the methods of the official client', () => {
    for (const method of ['quoteGetRaw', 'swapInstructionsPostRaw', 'swapPostRaw'] as const)
      expect(typeof SwapApi.prototype[method]).toBe('function');
  });
});

describe('the v2 provider', () => {
  it('asks for a build of version 0, and takes its instruction and the names of its tables', async () => {
    serve('/swap/v2/build', BUILD);
    const provider = v2();
    const quote = await provider.quote(EXACT_IN);
    expect(Object.fromEntries(requests[0]?.url.searchParams ?? [])).toEqual({
      ...{
        inputMint: USDC,
        outputMint: USDT,
        amount: '18446744073709551615',
        taker: WALLET,
        slippageBps: '50',
      },
      ...{ wrapAndUnwrapSol: 'false', transactionVersion: '0' },
    });
    expect(quote).toMatchObject({ provider: 'jupiter-v2', minOutAmount: '1930934' });
    expect(await provider.build(quote, WALLET)).toMatchObject({
      lookupTables: [someKey(90)],
      instruction: { data: Uint8Array.of(1, 2, 3) },
    });
    expect(requests.length).toBe(1);
  });

  it('asks for a new build when the build is old or for another wallet, and refuses a worse price', async () => {
    serve('/swap/v2/build', BUILD, BUILD, BUILD, {
      ...BUILD,
      outAmount: '1940637',
      otherAmountThreshold: '1930933',
    });
    const provider = v2();
    const quote = await provider.quote(EXACT_IN);
    await provider.build(quote, STRANGER);
    expect(requests[1]?.url.searchParams.get('taker')).toBe(STRANGER);
    runtime.advance(10_001);
    await provider.build(quote, WALLET);
    await expect(provider.build(quote, WALLET)).rejects.toMatchObject({ code: 'quote_mismatch' });
    expect(requests.length).toBe(4);
  });

  it('omits the version for good after the service rejected it', async () => {
    serve(
      '/swap/v2/build',
      () => HttpResponse.json({ error: 'unknown field transactionVersion' }, { status: 400 }),
      BUILD,
    );
    const provider = v2();
    await provider.quote(EXACT_IN);
    await provider.quote(EXACT_IN);
    expect(requests.map(({ url }) => url.searchParams.get('transactionVersion'))).toEqual([
      '0',
      null,
      null,
    ]);
  });

  it('refuses another version, and an exact output', async () => {
    serve('/swap/v2/build', { ...BUILD, transactionVersion: 1 });
    await expect(v2().quote(EXACT_IN)).rejects.toMatchObject({ code: 'invalid_response' });
    await expect(v2().quote(EXACT_OUT)).rejects.toMatchObject({ code: 'no_route' });
    expect(requests.length).toBe(1);
  });
});

describe.each<[string, string, (apiKey?: string) => SwapProvider, Record<string, unknown>]>([
  ['v1', '/swap/v1/quote', v1, QUOTE],
  ['v2', '/swap/v2/build', v2, BUILD],
])('the provider %s with an answer of Jupiter', (_, path, provider, good) => {
  const refused = (status: number, body: JsonBodyType) => () => HttpResponse.json(body, { status });
  const text = (status: number, body: string) => () =>
    new HttpResponse(body, { status, headers: { 'content-type': 'text/html' } });

  it.each<[string, string, Answer]>([
    ...[
      'NO_ROUTES_FOUND',
      'COULD_NOT_FIND_ANY_ROUTE',
      'TOKEN_NOT_TRADABLE',
      'MARKET_NOT_FOUND',
      'NOT_SUPPORTED',
      'ROUTE_PLAN_DOES_NOT_CONSUME_ALL_THE_AMOUNT',
    ].map((errorCode): [string, string, Answer] => [
      errorCode,
      'no_route',
      refused(400, { error: 'x', errorCode }),
    ]),
    ['plain text', 'no_route', text(400, 'Route not found')],
    ['200 and an error', 'no_route', { error: 'Could not find any route' }],
    [
      'a stale quote',
      'quote_mismatch',
      refused(400, { error: 'x', errorCode: 'FAILED_TO_GET_SWAP_AND_ACCOUNT_METAS' }),
    ],
    [
      'a bad request',
      'jupiter_unavailable',
      refused(400, { error: 'Query parameter amount cannot be parsed' }),
    ],
    ['401', 'jupiter_unavailable', refused(401, { code: 401, message: 'Unauthorized' })],
    ['403', 'jupiter_unavailable', refused(403, { message: 'Request blocked by firewall' })],
    ['404 that speaks of routes', 'jupiter_unavailable', text(404, 'Route not found')],
    ['410', 'jupiter_unavailable', text(410, '')],
    [
      '429',
      'rate_limited',
      refused(429, { code: 429, message: '[API Gateway] Too many requests, no routes found' }),
    ],
    ['502 as HTML', 'jupiter_unavailable', text(502, '<html>No routes found</html>')],
    ['200 as HTML', 'invalid_response', text(200, '<html>')],
    ['200 and nothing', 'invalid_response', text(200, '')],
    ['a list', 'invalid_response', []],
    ['null', 'invalid_response', null],
    ['no amounts', 'invalid_response', { ...good, inAmount: undefined }],
    ['a number as amount', 'invalid_response', { ...good, outAmount: 5 }],
    ['an amount above 64 bits', 'invalid_response', { ...good, outAmount: '18446744073709551616' }],
    ['an invalid mint', 'invalid_response', { ...good, outputMint: 'USDC' }],
    ['no route plan', 'invalid_response', { ...good, routePlan: undefined }],
    ['slippage that is not a number', 'invalid_response', { ...good, slippageBps: '50' }],
    ['an unknown mode', 'invalid_response', { ...good, swapMode: 'ExactBoth' }],
    ['a platform fee', 'quote_mismatch', { ...good, platformFee: { amount: '5', feeBps: 5 } }],
    [
      'a platform fee without its rate',
      'quote_mismatch',
      { ...good, platformFee: { amount: '5' } },
    ],
    ['a platform fee of another shape', 'quote_mismatch', { ...good, platformFee: 5 }],
    ['a lost connection', 'jupiter_unavailable', () => HttpResponse.error()],
    [
      'two megabytes',
      'invalid_response',
      () => HttpResponse.json({ ...good, padding: 'x'.repeat(2 * 1024 * 1024) }),
    ],
  ])('turns %s into %s', async (_name, code, answer) => {
    serve(path, answer);
    const error: unknown = await provider()
      .quote(EXACT_IN)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code, funds: 'untouched', moved: [] });
    expect(JSON.stringify((error as Error).message)).not.toMatch(
      /html|firewall|parsed|Unauthorized/,
    );
  });

  it.each([
    ['0.00012', 2],
    ['0', 0],
    ['0.01', 100],
    ['0.010001', 101],
    ['-0.001', -10],
    ['1e-7', 1],
    ['abc', null],
    [undefined, null],
    ['Infinity', null],
    [0.5, 5_000],
  ])('reads a price impact of %j as %j basis points', async (priceImpactPct, bps) => {
    serve(path, { ...good, priceImpactPct });
    expect((await provider().quote(EXACT_IN)).priceImpactBps).toBe(bps);
  });

  it.each([
    [undefined, null],
    ['jup_key', 'jup_key'],
  ])('sends the key %j as the header %j', async (key, header) => {
    serve(path, good);
    await provider(key).quote(EXACT_IN);
    expect(requests[0]?.key).toBe(header);
  });

  it('keeps the key out of its errors', async () => {
    serve(path, refused(401, { message: 'jup_secret is unknown' }));
    const error: unknown = await provider('jup_secret')
      .quote(EXACT_IN)
      .catch((thrown: unknown) => thrown);
    expect((error as Error).message).not.toContain('jup_secret');
  });

  it('rejects with the reason of the signal', async () => {
    serve(path, good);
    const reason = new Error('enough');
    await expect(provider().quote(EXACT_IN, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});

describe('an unusable build of Jupiter', () => {
  it.each<[string, unknown]>([
    ['no instruction', { ...INSTRUCTIONS, swapInstruction: null }],
    [
      'an invalid program',
      { ...INSTRUCTIONS, swapInstruction: { ...SWAP_INSTRUCTION, programId: 'JUP' } },
    ],
    [
      'an invalid account',
      {
        ...INSTRUCTIONS,
        swapInstruction: {
          ...SWAP_INSTRUCTION,
          accounts: [{ pubkey: 'x', isSigner: false, isWritable: false }],
        },
      },
    ],
    [
      'an invalid flag',
      {
        ...INSTRUCTIONS,
        swapInstruction: {
          ...SWAP_INSTRUCTION,
          accounts: [{ pubkey: WALLET, isSigner: 1, isWritable: false }],
        },
      },
    ],
    [
      'too many accounts',
      {
        ...INSTRUCTIONS,
        swapInstruction: {
          ...SWAP_INSTRUCTION,
          accounts: Array(257).fill(SWAP_INSTRUCTION.accounts[0]),
        },
      },
    ],
    [
      'data that is not base64',
      { ...INSTRUCTIONS, swapInstruction: { ...SWAP_INSTRUCTION, data: 'A_-' } },
    ],
    [
      'data that is too long',
      { ...INSTRUCTIONS, swapInstruction: { ...SWAP_INSTRUCTION, data: 'AAAA'.repeat(1_000) } },
    ],
    ['tables that are not a list', { ...INSTRUCTIONS, addressLookupTableAddresses: 'x' }],
    ['an invalid table', { ...INSTRUCTIONS, addressLookupTableAddresses: ['x'] }],
  ])('is refused with %s', async (_, answer) => {
    serve('/swap/v1/quote', QUOTE);
    serve('/swap/v1/swap-instructions', answer as JsonBodyType);
    const provider = v1();
    await expect(provider.build(await provider.quote(EXACT_IN), WALLET)).rejects.toMatchObject({
      code: 'invalid_response',
    });
  });
});
