import { type ClientOptions, type SwapResult, type UiSwapRequest } from 'exact-change';
import type { MintSymbol, SandboxWallet } from 'exact-change-sandbox';
import { beforeEach, describe, expect, it } from 'vitest';
import { POOL_AUTHORITY } from '../../adapters/sandbox/venue/venue.mjs';
import { landed, rpc, tokenAccount, tokenAmount } from '../helpers/chain.js';
import { clientOn, decided, recorded } from '../helpers/flow.js';
import { useSandbox } from '../helpers/sandbox.js';
import { UNUSED, usedByCap } from '../helpers/worth.js';

const sandbox = await useSandbox({ confirmationMs: 20 });

beforeEach(() => sandbox.controls.aggregator.resetCalls());
const clientFor = (wallet: SandboxWallet, options?: ClientOptions) =>
  clientOn(sandbox, wallet, options);

const exists = async (account: string) =>
  (
    await rpc<{ value: unknown }>(sandbox.rpcUrl, 'getAccountInfo', [
      account,
      { encoding: 'base64', commitment: 'confirmed' },
    ])
  ).value !== null;
const lamportsOf = async (owner: string) =>
  BigInt(
    (
      await rpc<{ value: number }>(sandbox.rpcUrl, 'getBalance', [
        owner,
        { commitment: 'confirmed' },
      ])
    ).value,
  );

/** Expects that the result has the amounts and the fee that the chain shows. */
async function expectOnChain(
  result: SwapResult,
  wallet: SandboxWallet,
  from: MintSymbol,
  into: MintSymbol,
  before: bigint,
): Promise<void> {
  const [input, output] = [sandbox.mints[from], sandbox.mints[into]];
  const [inAmount, outAmount] = [BigInt(result.inAmount), BigInt(result.outAmount)];
  const transaction = await landed(sandbox.rpcUrl, result.signature);
  expect([transaction.error, transaction.signatures]).toEqual([null, [result.signature]]);
  expect([result.inputMint, result.outputMint, BigInt(result.feeLamports)]).toEqual([
    input.address,
    output.address,
    transaction.fee,
  ]);
  const changesOf = (owner: string) =>
    new Map(
      transaction.tokens
        .filter((token) => token.owner === owner)
        .map(({ mint, change }) => [mint, change]),
    );
  expect(changesOf(POOL_AUTHORITY)).toEqual(
    new Map([
      [input.address, inAmount],
      [output.address, -outAmount],
    ] as const),
  );
  const own = new Map<string, bigint>([
    [input.address, -inAmount],
    [output.address, outAmount],
  ] as const);
  // SOL leaves and enters the wallet itself, because the swap closes the account that wraps the
  // SOL.
  own.delete(sandbox.mints.SOL.address);
  expect(changesOf(wallet.address)).toEqual(own);
  const rent = [...transaction.lamports].filter(
    ([account]) =>
      account !== wallet.address &&
      transaction.tokens.some(
        (token) => token.account === account && token.owner === wallet.address,
      ),
  );
  const native = (into === 'SOL' ? outAmount : 0n) - (from === 'SOL' ? inAmount : 0n);
  expect((await lamportsOf(wallet.address)) - before).toBe(
    native - transaction.fee - rent.reduce((sum, [, lamports]) => sum + lamports, 0n),
  );
}

const SWAPS: readonly (readonly [MintSymbol, MintSymbol, string, bigint, bigint])[] = [
  // From, into, funds, input for ExactIn, output for ExactOut.
  ['SOL', 'USDC', '0.5', 10_000_000n, 1_000_000n],
  ['USDC', 'SOL', '5', 1_000_000n, 5_000_000n],
  ['SOL', 'PYUSD', '0.5', 10_000_000n, 1_000_000n],
  ['PYUSD', 'SOL', '5', 1_000_000n, 5_000_000n],
  ['BONK', 'PYUSD', '1000000', 10_000_000_000n, 1_000_000n],
  ['PYUSD', 'BONK', '5', 1_000_000n, 3_000_000_000n],
  ['USDT', 'USDC', '5', 1_000_000n, 1_000_000n],
];
const MODES = ['ExactIn', 'ExactOut'] as const;

describe('client.swap', () => {
  // Each pair of tokens in one mode, and the first pair in both.
  const inModes = SWAPS.flatMap((swap, index) =>
    MODES.filter((_, turn) => index === 0 || index % 2 === turn).map(
      (mode) => [...swap, mode] as const,
    ),
  );
  it.each(inModes)(
    'lands as quoted in a wallet without an output account: %s into %s',
    async (from, into, funds, inAmount, outAmount, swapMode) => {
      const wallet = await sandbox.createWallet({ SOL: '0.05', ...{ [from]: funds } });
      const account = await tokenAccount(wallet.address, sandbox.mints[into]);
      expect(await exists(account)).toBe(false);
      const client = clientFor(wallet);
      const before = await lamportsOf(wallet.address);
      const amount = swapMode === 'ExactIn' ? inAmount : outAmount;
      const request = {
        inputMint: sandbox.mints[from].address,
        outputMint: sandbox.mints[into].address,
        amount,
        swapMode,
      };
      const quote = await client.quote(request);
      const result = await client.swap(request);
      await expectOnChain(result, wallet, from, into, before);
      expect(BigInt(swapMode === 'ExactIn' ? result.inAmount : result.outAmount)).toBe(amount);
      expect([result.inAmount, result.outAmount]).toEqual([quote.inAmount, quote.outAmount]);
      expect(await exists(account)).toBe(into !== 'SOL');
      expect(await exists(await tokenAccount(wallet.address, sandbox.mints.SOL))).toBe(false);
      expect(JSON.parse(JSON.stringify(result))).toEqual(result);
    },
  );

  it('accepts symbols and a text amount, and swaps into an existing account', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.05', USDC: '2', USDT: '1' });
    const before = await lamportsOf(wallet.address);
    const result = await clientFor(wallet).swap({
      inputMint: 'USDC',
      outputMint: 'USDT',
      amount: '500000',
    });
    await expectOnChain(result, wallet, 'USDC', 'USDT', before);
    expect(await tokenAmount(sandbox.rpcUrl, wallet.address, sandbox.mints.USDT)).toBe(
      1_000_000n + BigInt(result.outAmount),
    );
    expect(BigInt(result.feeLamports)).toBe(before - (await lamportsOf(wallet.address)));
  });

  it('accepts uiAmount, also for a token that is not pinned', async () => {
    const client = clientFor(await sandbox.createWallet({ SOL: '0.5', BONK: '1000' }));
    const bonk = sandbox.mints.BONK.address;
    const [sol, exact, swapped] = [
      await client.quote({ inputMint: 'SOL', outputMint: 'USDC', uiAmount: '0.25' }),
      await client.quote({
        inputMint: 'SOL',
        outputMint: 'USDC',
        uiAmount: '1.5',
        swapMode: 'ExactOut',
      }),
      await client.swap({ inputMint: bonk, outputMint: 'USDC', uiAmount: '999.12345' }),
    ];
    expect([sol.inAmount, exact.outAmount]).toEqual(['250000000', '1500000']);
    expect(swapped.inAmount).toBe('99912345');
    const both = { inputMint: 'SOL', outputMint: 'USDC', uiAmount: '1', amount: '1' };
    for (const request of [
      { inputMint: bonk, outputMint: 'USDC', uiAmount: '0.000001' },
      { inputMint: 'SOL', outputMint: 'USDC', uiAmount: '1e3' },
      both as unknown as UiSwapRequest,
    ])
      await expect(client.quote(request)).rejects.toMatchObject({
        code: 'invalid_option',
        details: { option: 'uiAmount' },
      });
    const nothing = { inputMint: sandbox.merchant, outputMint: 'USDC', uiAmount: '1' };
    await expect(client.quote(nothing)).rejects.toMatchObject({ code: 'unknown_mint' });
  });

  it('counts against no cap and works without autoSwap', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.05', USDC: '5' });
    const client = clientFor(wallet, {
      autoSwap: false,
      policy: { maxPerPayment: '0.01', maxPerDay: '0.01' },
    });
    const events = recorded(client);
    await client.swap({ inputMint: 'USDC', outputMint: 'USDT', amount: 3_000_000n });
    expect(await usedByCap(client)).toEqual(UNUSED);
    expect(events.map(({ type }) => type)).toEqual([
      'swap.quoted',
      'swap.signed',
      'swap.confirmed',
    ]);
  });

  it('leaves its proceeds for the next payment', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.05', BONK: '1000000' });
    const client = clientFor(wallet, { autoSwap: false });
    await client.swap({
      inputMint: 'SOL',
      outputMint: 'USDC',
      amount: 100_000n,
      swapMode: 'ExactOut',
    });
    expect((await decided(await client.fetch(`${sandbox.apiUrl}/usdc`))).state).toBe('settled');
  });

  it('lands both of two parallel swaps of one wallet', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.05', USDC: '5' });
    const client = clientFor(wallet);
    const results = await Promise.all([
      client.swap({ inputMint: 'USDC', outputMint: 'USDT', amount: 1_000_000n }),
      client.swap({ inputMint: 'USDC', outputMint: 'PYUSD', amount: 1_000_000n }),
    ]);
    for (const { signature } of results)
      expect((await landed(sandbox.rpcUrl, signature)).error).toBeNull();
    expect(await tokenAmount(sandbox.rpcUrl, wallet.address, sandbox.mints.USDC)).toBe(3_000_000n);
  });
});

describe('a client while ExactOut has no route', () => {
  beforeEach(() => sandbox.controls.aggregator.noExactOut('*', '*'));

  it('quotes an input with a minimal output that covers the amount, and swaps it', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const client = clientFor(wallet);
    const request = {
      inputMint: 'SOL',
      outputMint: 'USDC',
      amount: 1_000_000n,
      swapMode: 'ExactOut',
    } as const;
    const quote = await client.quote(request);
    expect(quote.swapMode).toBe('ExactIn');
    expect(BigInt(quote.minOutAmount)).toBeGreaterThanOrEqual(1_000_000n);
    const before = await lamportsOf(wallet.address);
    const result = await client.swap(request);
    await expectOnChain(result, wallet, 'SOL', 'USDC', before);
    expect(BigInt(result.outAmount)).toBeGreaterThanOrEqual(1_000_000n);
    // The input is sized by the price, so the output exceeds the amount by little.
    expect(BigInt(result.outAmount)).toBeLessThan(1_020_000n);
  });

  it.each([
    ['/usdc', 'USDC', 10_000n],
    ['/pyusd', 'PYUSD', 30_000n],
  ] as const)('pays %s from SOL', async (path, symbol, price) => {
    const before = await tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints[symbol]);
    const receipt = await decided(
      await clientFor(await sandbox.createWallet({ SOL: '0.5' })).fetch(sandbox.apiUrl + path),
    );
    expect(
      (await tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints[symbol])) - before,
    ).toBe(price);
    // Swap API v2 sizes the input, because its quotes contain the instructions.
    expect(receipt).toMatchObject({ state: 'settled', swap: { provider: 'jupiter-v2' } });
  });
});

describe('a client while Swap API v1 is gone', () => {
  beforeEach(() => {
    for (const endpoint of ['/swap/v1/quote', '/swap/v1/swap-instructions'])
      sandbox.controls.aggregator.fault(endpoint, {
        kind: 'status',
        status: 410,
        body: '{"error":"gone"}',
      });
  });

  it.each([
    ['/usdc', 'USDC', 10_000n],
    ['/pyusd', 'PYUSD', 30_000n],
  ] as const)('pays %s by Swap API v2', async (path, symbol, price) => {
    const wallet = await sandbox.createWallet({ SOL: '0.5', BONK: '1000000' });
    const before = await tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints[symbol]);
    const receipt = await decided(await clientFor(wallet).fetch(sandbox.apiUrl + path));
    expect(
      (await tokenAmount(sandbox.rpcUrl, sandbox.merchant, sandbox.mints[symbol])) - before,
    ).toBe(price);
    expect(receipt).toMatchObject({
      state: 'settled',
      swap: { provider: 'jupiter-v2', outputMint: sandbox.mints[symbol].address },
    });
  });

  it('lands client.swap in both modes by Swap API v2', async () => {
    const wallet = await sandbox.createWallet({ SOL: '0.5' });
    const client = clientFor(wallet);
    for (const [swapMode, amount] of [
      ['ExactIn', 10_000_000n],
      ['ExactOut', 1_000_000n],
    ] as const) {
      const before = await lamportsOf(wallet.address);
      const result = await client.swap({ inputMint: 'SOL', outputMint: 'USDT', amount, swapMode });
      expect(result.provider).toBe('jupiter-v2');
      await expectOnChain(result, wallet, 'SOL', 'USDT', before);
      if (swapMode === 'ExactOut') expect(BigInt(result.outAmount)).toBeGreaterThanOrEqual(amount);
    }
  });

  it('stops asking Swap API v1', async () => {
    const client = clientFor(await sandbox.createWallet({ SOL: '0.5' }));
    await client.quote({ inputMint: 'SOL', outputMint: 'USDC', amount: 10_000_000n });
    sandbox.controls.aggregator.resetCalls();
    await client.quote({ inputMint: 'SOL', outputMint: 'USDC', amount: 10_000_000n });
    expect(sandbox.controls.aggregator.calls('/swap/v1/quote')).toBe(0);
  });
});
