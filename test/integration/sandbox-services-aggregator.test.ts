import {
  AccountRole,
  address,
  createKeyPairSignerFromBytes,
  getBase58Encoder,
  getBase64Encoder,
  getBase64EncodedWireTransaction,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  partiallySignTransaction,
} from '@solana/kit';
import type { MintSymbol, SandboxWallet } from 'exact-change-sandbox';
import { beforeEach, describe, expect, it } from 'vitest';
import { MODE } from '../../adapters/sandbox/venue/venue.mjs';
import { useSandbox } from '../helpers/sandbox.js';

const JUPITER = 'JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4';

interface Quote {
  readonly [name: string]: unknown;
  readonly inAmount: string;
  readonly outAmount: string;
  readonly otherAmountThreshold: string;
  readonly priceImpactPct: string;
}
interface JsonInstruction {
  readonly programId: string;
  readonly accounts: readonly { pubkey: string; isSigner: boolean; isWritable: boolean }[];
  readonly data: string;
}
interface Instructions {
  readonly computeBudgetInstructions: readonly JsonInstruction[];
  readonly setupInstructions: readonly JsonInstruction[];
  readonly swapInstruction: JsonInstruction;
  readonly cleanupInstruction: JsonInstruction | null;
  readonly otherInstructions: readonly JsonInstruction[];
  readonly addressLookupTableAddresses: readonly string[];
}

const sandbox = await useSandbox({ confirmationMs: 0 });

beforeEach(() => sandbox.controls.aggregator.restore());

type Params = Record<string, string>;

function get(path: string, params: Params = {}): Promise<Response> {
  return fetch(`${sandbox.jupiterUrl}${path}?${new URLSearchParams(params).toString()}`);
}

function post(path: string, body: unknown): Promise<Response> {
  return fetch(sandbox.jupiterUrl + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

function params(input: MintSymbol, output: MintSymbol, amount: bigint, more: Params = {}): Params {
  const { mints } = sandbox;
  return {
    inputMint: mints[input].address,
    outputMint: mints[output].address,
    amount: amount.toString(),
    instructionVersion: 'V2',
    ...more,
  };
}

async function quoted(
  input: MintSymbol,
  output: MintSymbol,
  amount: bigint,
  more: Params = {},
): Promise<Quote> {
  const response = await get('/swap/v1/quote', params(input, output, amount, more));
  expect(response.status).toBe(200);
  return (await response.json()) as Quote;
}

async function refusal(pending: Promise<Response>): Promise<readonly [number, string]> {
  const response = await pending;
  const { errorCode, error } = (await response.json()) as { error: string; errorCode: string };
  expect(error).not.toBe('');
  return [response.status, errorCode];
}

interface Rpc {
  readonly result?: {
    readonly value: readonly ({
      readonly err: unknown;
      readonly confirmationStatus: string;
    } | null)[];
  };
  readonly error?: { readonly message: string; readonly data?: unknown };
}

async function rpc(method: string, args: unknown[]): Promise<Rpc & { result?: unknown }> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: args });
  return (await (
    await fetch(sandbox.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
  ).json()) as Rpc;
}

/** Signs a transaction of /swap with kit and sends it. Resolves with its error, or null. */
async function land(wallet: SandboxWallet, transaction: string): Promise<unknown> {
  const signer = await createKeyPairSignerFromBytes(getBase58Encoder().encode(wallet.secretKey));
  const unsigned = getTransactionDecoder().decode(getBase64Encoder().encode(transaction));
  const wire = getBase64EncodedWireTransaction(
    await partiallySignTransaction([signer.keyPair], unsigned),
  );
  const sent = await rpc('sendTransaction', [wire, { encoding: 'base64', skipPreflight: true }]);
  expect(sent.error).toBeUndefined();
  for (;;) {
    const status = (await rpc('getSignatureStatuses', [[sent.result]])).result?.value[0];
    if (status !== null && status !== undefined && status.confirmationStatus !== 'processed')
      return status.err;
  }
}

async function swapTransaction(
  wallet: SandboxWallet,
  quoteResponse: unknown,
  more: object = {},
): Promise<Record<string, unknown>> {
  const response = await post('/swap/v1/swap', {
    userPublicKey: wallet.address,
    quoteResponse,
    prioritizationFeeLamports: 0,
    ...more,
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Record<string, unknown>;
}

async function swap(wallet: SandboxWallet, quoteResponse: unknown): Promise<unknown> {
  return land(wallet, String((await swapTransaction(wallet, quoteResponse))['swapTransaction']));
}

describe('a quote', () => {
  it('has every field of Jupiter, amounts as strings, and no percent in V2', async () => {
    const quote = await quoted('SOL', 'USDC', 1_000_000_000n);
    expect(quote).toMatchObject({
      inputMint: sandbox.mints.SOL.address,
      outputMint: sandbox.mints.USDC.address,
      inAmount: '1000000000',
      swapMode: 'ExactIn',
      slippageBps: 50,
      platformFee: null,
      instructionVersion: 'V2',
      routePlan: [
        {
          percent: null,
          bps: 10_000,
          swapInfo: { inAmount: '1000000000', outAmount: quote.outAmount },
        },
      ],
    });
    // 150 dollars, less the spread of five basis points
    expect(quote.outAmount).toMatch(/^1499\d{5}$/);
    const out = BigInt(quote.outAmount);
    expect(BigInt(quote.otherAmountThreshold)).toBe((out * 9_950n + 9_999n) / 10_000n);
    expect(Number(quote.priceImpactPct)).toBeLessThan(0.00001);
  });

  it('limits the input of ExactOut from above', async () => {
    const quote = await quoted('BONK', 'USDC', 1_000_000n, {
      swapMode: 'ExactOut',
      slippageBps: '100',
    });
    expect(quote.outAmount).toBe('1000000');
    expect(BigInt(quote.otherAmountThreshold)).toBe(
      (BigInt(quote.inAmount) * 10_100n + 9_999n) / 10_000n,
    );
  });

  it('gets worse with its size', async () => {
    const small = await quoted('BONK', 'USDC', 100_000_00000n);
    const large = await quoted('BONK', 'USDC', 10_000_000_000_00000n);
    expect(Number(large.priceImpactPct)).toBeGreaterThan(0.05);
    expect(BigInt(large.outAmount)).toBeLessThan(BigInt(small.outAmount) * 100_000n);
  });

  it.each([
    [
      'an unknown token',
      { inputMint: '7vfCXTUXx5WJV5JADk17DUJ4ksgau7utNKj4b963voxs' },
      'TOKEN_NOT_TRADABLE',
    ],
    [
      'a size above the market',
      { amount: '18446744073709551615', swapMode: 'ExactOut' },
      'NO_ROUTES_FOUND',
    ],
    ['a decimal amount', { amount: '1.5' }, 'BAD_REQUEST'],
    ['an amount above u64', { amount: '18446744073709551616' }, 'BAD_REQUEST'],
    ['an amount of zero', { amount: '0' }, 'NO_ROUTES_FOUND'],
    [
      'a slippage above 100 percent',
      { slippageBps: '10001' },
      'CANNOT_COMPUTE_OTHER_AMOUNT_THRESHOLD',
    ],
    ['an unknown mode', { swapMode: 'exactOut' }, 'BAD_REQUEST'],
  ])('is refused for %s', async (_name, change, errorCode) => {
    expect(
      await refusal(get('/swap/v1/quote', { ...params('SOL', 'USDC', 1_000_000n), ...change })),
    ).toEqual([400, errorCode]);
  });

  it('is refused for a token against itself', async () => {
    expect(await refusal(get('/swap/v1/quote', params('USDC', 'USDC', 1n)))).toEqual([
      400,
      'CIRCULAR_ARBITRAGE_IS_DISABLED',
    ]);
  });

  it('follows ordered prices, refusals and impacts', async () => {
    const { aggregator } = sandbox.controls;
    const before = await quoted('SOL', 'USDC', 1_000_000_000n);
    aggregator.setPrice('SOL', 300_000n);
    expect(Number((await quoted('SOL', 'USDC', 1_000_000_000n)).outAmount)).toBeCloseTo(
      2 * Number(before.outAmount),
      -4,
    );
    aggregator.setPriceImpact('SOL', 'USDC', 300);
    expect((await quoted('SOL', 'USDC', 1_000_000_000n)).priceImpactPct).toBe('0.03');
    aggregator.noRoute('BONK', '*');
    expect(await refusal(get('/swap/v1/quote', params('BONK', 'USDT', 1_000_000n)))).toEqual([
      400,
      'NO_ROUTES_FOUND',
    ]);
    aggregator.noExactOut('SOL', 'PYUSD');
    const exactOut = get(
      '/swap/v1/quote',
      params('SOL', 'PYUSD', 1_000_000n, { swapMode: 'ExactOut' }),
    );
    expect(await refusal(exactOut)).toEqual([400, 'COULD_NOT_FIND_ANY_ROUTE']);
    expect((await get('/swap/v1/quote', params('SOL', 'PYUSD', 1_000_000n))).status).toBe(200);
    aggregator.untradable('USDT');
    expect(await refusal(get('/swap/v1/quote', params('USDC', 'USDT', 1_000_000n)))).toEqual([
      400,
      'TOKEN_NOT_TRADABLE',
    ]);
    aggregator.restore();
    expect((await quoted('SOL', 'USDC', 1_000_000_000n)).outAmount).toBe(before.outAmount);
  });
});

describe('a swap transaction', () => {
  it.each([
    ['SOL', 'USDC', 100_000_000n, 'ExactIn'],
    ['SOL', 'USDC', 5_000_000n, 'ExactOut'],
    ['USDC', 'SOL', 5_000_000n, 'ExactIn'],
    ['USDC', 'SOL', 10_000_000n, 'ExactOut'],
    ['BONK', 'PYUSD', 100_000_00000n, 'ExactIn'],
    ['BONK', 'PYUSD', 1_000_000n, 'ExactOut'],
    ['PYUSD', 'USDT', 1_000_000n, 'ExactIn'],
    ['PYUSD', 'SOL', 1_000_000n, 'ExactOut'],
  ] as const)(
    'from %s to %s moves exactly the quoted amounts (%d, %s)',
    async (input, output, amount, swapMode) => {
      const wallet = await sandbox.createWallet({
        SOL: '1',
        USDC: '100',
        PYUSD: '100',
        BONK: '10000000',
      });
      const quote = await quoted(input, output, amount, { swapMode });
      expect(swapMode === 'ExactIn' ? quote.inAmount : quote.outAmount).toBe(amount.toString());
      const balances = async (): Promise<[bigint, bigint]> => [
        await sandbox.balance(wallet.address, input),
        await sandbox.balance(wallet.address, output),
      ];
      const held = await balances();
      expect(await swap(wallet, quote)).toBeNull();
      const now = await balances();

      // SOL also pays the signature (5000 lamports), and the rent of a new account for the output.
      const rent = output === 'USDT' || (output === 'USDC' && held[1] === 0n) ? 2_039_280n : 0n;
      const sol = (symbol: MintSymbol): bigint =>
        symbol === 'SOL' ? 5_000n + (symbol === input ? rent : 0n) : 0n;
      expect(held[0] - now[0]).toBe(BigInt(quote.inAmount) + sol(input));
      expect(now[1] - held[1]).toBe(BigInt(quote.outAmount) - sol(output));
    },
  );

  it('uses lookup tables, is unsigned, and has the caller as its fee payer', async () => {
    const wallet = await sandbox.createWallet({ SOL: '1' });
    const answer = await swapTransaction(wallet, await quoted('SOL', 'USDC', 1_000_000n), {
      dynamicComputeUnitLimit: true,
    });
    expect(answer).toMatchObject({ simulationError: null, dynamicSlippageReport: null });
    expect(answer['computeUnitLimit']).toBeLessThan(1_400_000);
    const bytes = getBase64Encoder().encode(String(answer['swapTransaction']));
    const transaction = getTransactionDecoder().decode(bytes);
    expect(transaction.signatures).toEqual({ [wallet.address]: null });
    const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
    expect(message.version === 0 && message.addressTableLookups?.length).toBe(2);
    expect(message.staticAccounts[0]).toBe(wallet.address);
  });

  it('names the error of its simulation', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.01' });
    const answer = await swapTransaction(wallet, await quoted('USDC', 'SOL', 1_000_000n), {
      dynamicComputeUnitLimit: true,
    });
    expect(answer['simulationError']).toMatchObject({ errorCode: 'TRANSACTION_ERROR' });
  });

  it('fails on chain and keeps the tokens if the venue fills below the tolerance', async () => {
    const wallet = await sandbox.createWallet({ SOL: '1', USDC: '10' });
    const quote = await quoted('USDC', 'USDT', 1_000_000n);
    sandbox.controls.aggregator.setVenue({ deviationBps: -51 });
    expect(await swap(wallet, quote)).toEqual({ InstructionError: [3, { Custom: 6001 }] });
    expect(await sandbox.balance(wallet.address, 'USDC')).toBe(10_000_000n);
  });

  it('pays as much as a hostile venue takes', async () => {
    const wallet = await sandbox.createWallet({ SOL: '1', USDC: '10', USDT: '1' });
    const quote = await quoted('USDC', 'USDT', 1_000_000n);
    sandbox.controls.aggregator.setVenue({ modes: [MODE.overcharge] });
    expect(await swap(wallet, quote)).toBeNull();
    expect(await sandbox.balance(wallet.address, 'USDC')).toBe(0n);
  });
});

describe('a swap transaction with options', () => {
  it('goes through shared accounts if the request asks for them', async () => {
    const wallet = await sandbox.createWallet({ SOL: '1', USDC: '10' });
    for (const swapMode of ['ExactIn', 'ExactOut'] as const) {
      const held = [
        await sandbox.balance(wallet.address, 'USDC'),
        await sandbox.balance(wallet.address, 'USDT'),
      ] as const;
      const quote = await quoted('USDC', 'USDT', 1_000_000n, { swapMode });
      const answer = await swapTransaction(wallet, quote, { useSharedAccounts: true });
      expect(await land(wallet, String(answer['swapTransaction']))).toBeNull();
      expect(held[0] - (await sandbox.balance(wallet.address, 'USDC'))).toBe(
        BigInt(quote.inAmount),
      );
      expect((await sandbox.balance(wallet.address, 'USDT')) - held[1]).toBe(
        BigInt(quote.outAmount),
      );
    }
  });

  it('carries the accounts that a hostile mode needs', async () => {
    const attacker = address((await sandbox.createWallet({ SOL: '0.001' })).address);
    const wallet = await sandbox.createWallet({ SOL: '1', USDC: '10', USDT: '1' });
    const quote = await quoted('USDC', 'USDT', 1_000_000n);
    const system = {
      address: address('11111111111111111111111111111111'),
      role: AccountRole.READONLY,
    };
    sandbox.controls.aggregator.setVenue({
      modes: [MODE.takeSol],
      amount: 500_000_000n,
      attacker,
      extra: [system, attacker],
    });
    expect(await swap(wallet, quote)).toBeNull();
    expect(await sandbox.balance(attacker, 'SOL')).toBe(501_000_000n);
  });
});

describe('swap instructions', () => {
  it('wrap SOL before, unwrap it after, and create only missing accounts', async () => {
    const wallet = await sandbox.createWallet({ SOL: '1', USDC: '1' });
    const quoteResponse = await quoted('SOL', 'USDC', 2_000_000n, { swapMode: 'ExactOut' });
    const response = await post('/swap/v1/swap-instructions', {
      userPublicKey: wallet.address,
      quoteResponse,
    });
    const answer = (await response.json()) as Instructions;
    expect(answer.computeBudgetInstructions).toHaveLength(2);
    expect(
      answer.setupInstructions.map((instruction) => Buffer.from(instruction.data, 'base64')[0]),
    ).toEqual([1, 2, 17]); // create, transfer, sync
    const wrapped = Buffer.from(answer.setupInstructions[1]?.data ?? '', 'base64').readBigUInt64LE(
      4,
    );
    expect(wrapped.toString()).toBe(quoteResponse.otherAmountThreshold);
    expect(answer.cleanupInstruction).toMatchObject({ data: Buffer.from([9]).toString('base64') });
    expect(answer.otherInstructions).toEqual([]);
    expect(answer.addressLookupTableAddresses).toHaveLength(2);

    const { programId, accounts, data } = answer.swapInstruction;
    expect(programId).toBe(JUPITER);
    expect(accounts.filter((meta) => meta.isSigner).map((meta) => meta.pubkey)).toEqual([
      wallet.address,
    ]);
    const bytes = Buffer.from(data, 'base64');
    expect(bytes.subarray(0, 8).toString('hex')).toBe('9d8ab85215f4f324');
    expect([bytes.readBigUInt64LE(8), bytes.readBigUInt64LE(16)]).toEqual([
      2_000_000n,
      BigInt(quoteResponse.inAmount),
    ]);
    expect([bytes.readUInt16LE(24), bytes.readUInt16LE(26), bytes.readUInt16LE(28)]).toEqual([
      50, 0, 0,
    ]);
  });

  it('create every account if look-ups are skipped, and wrap no SOL on request', async () => {
    const wallet = await sandbox.createWallet({ SOL: '1', USDC: '1' });
    const quoteResponse = await quoted('SOL', 'USDC', 1_000_000n);
    const body = {
      userPublicKey: wallet.address,
      quoteResponse,
      wrapAndUnwrapSol: false,
      skipUserAccountsRpcCalls: true,
    };
    const answer = (await (await post('/swap/v1/swap-instructions', body)).json()) as Instructions;
    expect(
      answer.setupInstructions.map((instruction) => Buffer.from(instruction.data, 'base64')[0]),
    ).toEqual([1]);
    expect(answer.cleanupInstruction).toBeNull();
  });

  it.each([
    ['no body', 'nonsense'],
    ['no key', { quoteResponse: {} }],
    ['no quote', { userPublicKey: JUPITER, quoteResponse: { inAmount: '1' } }],
  ])('are refused for %s', async (_name, body) => {
    expect(await refusal(post('/swap/v1/swap-instructions', body))).toEqual([400, 'BAD_REQUEST']);
  });

  it('carry an ordered lie, which other endpoints do not', async () => {
    const attacker = (await sandbox.createWallet()).address;
    const wallet = await sandbox.createWallet({ SOL: '1', USDC: '1' });
    sandbox.controls.aggregator.lie('POST /swap/v1/swap-instructions', (answer) => {
      const { accounts } = answer['swapInstruction'] as { accounts: { pubkey: string }[] };
      const destination = accounts[2];
      if (destination) destination.pubkey = attacker;
      return answer;
    });
    const quoteResponse = await quoted('USDC', 'USDT', 1_000_000n);
    const answer = (await (
      await post('/swap/v1/swap-instructions', { userPublicKey: wallet.address, quoteResponse })
    ).json()) as Instructions;
    expect(answer.swapInstruction.accounts[2]?.pubkey).toBe(attacker);
    expect(await swap(wallet, quoteResponse)).toBeNull();
    expect(await sandbox.balance(wallet.address, 'USDT')).toBe(BigInt(quoteResponse.outAmount));
  });
});

describe('/swap/v2/build', () => {
  it('returns the quote, the instructions, the tables and a blockhash in one call', async () => {
    const wallet = await sandbox.createWallet({ SOL: '1', BONK: '1000000' });
    const response = await get('/swap/v2/build', {
      ...params('BONK', 'USDC', 10_000_00000n),
      taker: wallet.address,
      transactionVersion: '0',
    });
    expect(response.status).toBe(200);
    const answer = (await response.json()) as Instructions & {
      addressesByLookupTableAddress: Record<string, string[]>;
      blockhashWithMetadata: { blockhash: number[]; lastValidBlockHeight: number };
    };
    const quote = await quoted('BONK', 'USDC', 10_000_00000n);
    expect(answer).toMatchObject({
      inAmount: quote.inAmount,
      outAmount: quote.outAmount,
      otherAmountThreshold: quote.otherAmountThreshold,
      swapMode: 'ExactIn',
      tipInstruction: null,
      transactionVersion: 0,
    });
    expect(
      answer.computeBudgetInstructions.map(
        (instruction) => Buffer.from(instruction.data, 'base64')[0],
      ),
    ).toEqual([3]); // the price alone
    expect(answer.blockhashWithMetadata.blockhash).toHaveLength(32);
    for (const [table, addresses] of Object.entries(answer.addressesByLookupTableAddress)) {
      const data = sandbox.chain.account(address(table))?.data ?? new Uint8Array();
      expect(data.length).toBe(56 + 32 * addresses.length);
      expect(Buffer.from(data.subarray(56, 88))).toEqual(
        Buffer.from(getBase58Encoder().encode(addresses[0] ?? '')),
      );
    }
  });

  it('refuses like the quote, and refuses another transaction version', async () => {
    const wallet = await sandbox.createWallet();
    const query = { ...params('USDC', 'USDC', 1n), taker: wallet.address };
    expect(await refusal(get('/swap/v2/build', query))).toEqual([
      400,
      'CIRCULAR_ARBITRAGE_IS_DISABLED',
    ]);
    const other = {
      ...params('SOL', 'USDC', 1_000_000n),
      taker: wallet.address,
      transactionVersion: '1',
    };
    expect(await refusal(get('/swap/v2/build', other))).toEqual([400, 'BAD_REQUEST']);
  });
});

describe('the gateway of the aggregator', () => {
  it('limits the rate over all endpoints, with the headers and body of Jupiter', async () => {
    sandbox.controls.aggregator.setRateLimit({ requests: 2, windowMs: 60_000 });
    const first = await get('/swap/v1/program-id-to-label');
    expect(Object.keys((await first.json()) as object)).toEqual([JUPITER]);
    expect(first.headers.get('x-ratelimit-remaining')).toBe('1');
    await get('/swap/v1/quote', params('SOL', 'USDC', 1_000_000n));
    const third = await get('/swap/v1/quote', params('SOL', 'USDC', 1_000_000n));
    expect(third.status).toBe(429);
    expect(await third.json()).toEqual({ code: 429, message: '[API Gateway] Too many requests' });
    expect(third.headers.get('retry-after')).toBeNull();
    expect(Number(third.headers.get('x-ratelimit-remaining'))).toBeLessThan(0);
    expect(Number(third.headers.get('x-ratelimit-reset')) * 1000).toBeGreaterThan(Date.now());
    expect(third.headers.get('x-api-gateway-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    sandbox.controls.aggregator.setRateLimit(undefined);
    expect((await get('/swap/v1/program-id-to-label')).status).toBe(200);
  });

  it('allows requests from browsers', async () => {
    const url = `${sandbox.jupiterUrl}/swap/v1/swap`;
    const preflight = await fetch(url, {
      method: 'OPTIONS',
      headers: { 'access-control-request-headers': 'content-type,x-api-key' },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
      204,
      'content-type,x-api-key',
    ]);
    expect(
      (await get('/swap/v1/program-id-to-label')).headers.get('access-control-allow-origin'),
    ).toBe('*');
  });

  it('answers 404 to other paths', async () => {
    expect((await get('/swap/v3/quote')).status).toBe(404);
  });
});
