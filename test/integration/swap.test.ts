import {
  address,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  type Address,
} from '@solana/kit';
import type { MintSymbol, SandboxWallet } from 'exact-change-sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createJupiterHttp } from '../../src/swaps/jupiter/http.js';
import { SOLANA_MAINNET } from '../../src/network.js';
import { systemRuntime } from '../../src/internal/runtime.js';
import { associatedTokenAddress } from '../../src/solana/tokens/accounts.js';
import { decodeTokenAccount } from '../../src/solana/tokens/decode.js';
import { createBlockhashSource } from '../../src/solana/rpc/blockhash.js';
import { landTransaction } from '../../src/solana/transactions/confirm.js';
import { connectRpc } from '../../src/solana/rpc/connection.js';
import { createKeySigner } from '../../src/solana/keys.js';
import type { Rpc } from '../../src/solana/rpc/rpc.js';
import { createFallback } from '../../src/swaps/jupiter/connect.js';
import { defaultSwapLimits } from '../helpers/swap-limits.js';
import { createJupiterV1 } from '../../src/swaps/jupiter/v1.js';
import { createJupiterV2 } from '../../src/swaps/jupiter/v2.js';
import {
  boundsOf,
  signSwap,
  type SignedSwap,
  type SwapDeps,
  type SwapOrder,
} from '../../src/swaps/transaction/prepare.js';
import { signWrap } from '../../src/swaps/transaction/sign-wrap.js';
import type { SwapProvider } from '../../src/swaps/provider.js';
import type { SwapQuote } from '../../src/swaps/types.js';
import { lookBackAt } from '../helpers/look-back.js';
import { useSandbox } from '../helpers/sandbox.js';
import { swapDecoders as decoders } from '../../src/swaps/sources.js';

const runtime = systemRuntime;
const TOKEN_RENT = 2_039_280n;

const sandbox = await useSandbox({ seed: 'swap', confirmationMs: 0 });
let rpc: Rpc;

beforeAll(async () => {
  rpc = connectRpc({ urls: [sandbox.rpcUrl], wsUrl: sandbox.wsUrl, timeoutMs: 10_000 });
});

afterAll(async () => {
  rpc.close();
});

interface Swapper {
  readonly wallet: SandboxWallet;
  readonly deps: SwapDeps;
  readonly provider: SwapProvider;
}

async function swapper(funds: Partial<Record<MintSymbol, string>>): Promise<Swapper> {
  const wallet = await sandbox.createWallet(funds);
  const signer = createKeySigner(wallet.secretKey);
  const options = {
    baseUrl: sandbox.jupiterUrl,
    http: createJupiterHttp({ timeoutMs: 10_000, runtime }),
    runtime,
  };
  const provider = createFallback({
    first: createJupiterV1(options),
    second: createJupiterV2({ ...options, taker: signer.address }),
    runtime,
  });
  const blockhashes = createBlockhashSource(rpc, runtime);
  return {
    wallet,
    provider,
    deps: {
      decoders,
      rpc,
      signer,
      blockhashes,
      network: SOLANA_MAINNET,
      limits: defaultSwapLimits,
    },
  };
}

function quoteFor(
  { provider }: Swapper,
  from: MintSymbol,
  to: MintSymbol,
  amount: bigint,
): Promise<SwapQuote> {
  const { mints } = sandbox;
  return provider.quote({
    ...{ inputMint: mints[from].address, outputMint: mints[to].address, amount },
    swapMode: 'ExactOut',
    slippageBps: 50,
  });
}

function sign(
  { deps, provider, wallet }: Swapper,
  quote: SwapQuote,
  change: Partial<SwapOrder> = {},
): Promise<SignedSwap> {
  return signSwap(deps, {
    bounds: boundsOf(quote),
    build: (signal) => provider.build(quote, wallet.address, signal),
    ...change,
  });
}

const land = ({ bytes, lifetime: { lastValidBlockHeight } }: SignedSwap) =>
  landTransaction({
    rpc,
    runtime,
    bytes,
    lastValidBlockHeight,
    resendMs: 1_000,
    lookBack: lookBackAt(rpc, bytes),
  });
const lamports = ({ wallet }: Swapper) =>
  sandbox.chain.account(address(wallet.address))?.lamports ?? 0n;

function ataOf(owner: string, symbol: MintSymbol): Address {
  const { address: mint, tokenProgram } = sandbox.mints[symbol];
  return address(associatedTokenAddress(owner, mint, tokenProgram));
}

function wrapped(owner: string): bigint {
  const account = sandbox.chain.account(ataOf(owner, 'SOL'));
  return account === undefined ? 0n : (decodeTokenAccount(account)?.amount ?? 0n);
}

const feesOf = ({ expected }: SignedSwap) =>
  expected.networkFeeLamports + expected.priorityFeeLamports;

describe('a swap on chain', () => {
  it('sells wrapped SOL before native SOL, and keeps the existing account', async () => {
    const agent = await swapper({ SOL: '1' });
    await sandbox.chain.fundToken(address(agent.wallet.address), sandbox.mints.SOL, 1_000_000n);
    const quote = await quoteFor(agent, 'SOL', 'USDC', 1_000_000n);
    const before = lamports(agent);
    const signed = await sign(agent, quote);
    expect(await land(signed)).toMatchObject({ outcome: 'confirmed' });
    const topUp = BigInt(quote.maxInAmount) - 1_000_000n;
    expect(before - lamports(agent)).toBe(topUp + feesOf(signed) + TOKEN_RENT);
    expect(wrapped(agent.wallet.address)).toBe(BigInt(quote.maxInAmount) - BigInt(quote.inAmount));
  });

  it('wraps SOL in a transaction of its own each time, also on one blockhash', async () => {
    const agent = await swapper({ SOL: '1' });
    const lifetime = await agent.deps.blockhashes.fresh();
    const blockhashes = { fresh: async () => lifetime };
    const counts = new Map<string, number>();
    const next = async (name: string) => {
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      return count;
    };
    // The first transaction creates the account; the next two do not.
    for (let times = 1n; times <= 3n; times += 1n) {
      const signed = await signWrap({ ...agent.deps, blockhashes }, { amount: 4_000_000n, next });
      expect(await land(signed)).toMatchObject({ outcome: 'confirmed' });
      expect(wrapped(agent.wallet.address)).toBe(4_000_000n * times);
    }
  });
});

describe('a signed swap', () => {
  it('needs one signature, names only accounts of the swap, and ends with the guard', async () => {
    const agent = await swapper({ SOL: '0.01', USDC: '20' });
    const { bytes, signature, expected } = await sign(
      agent,
      await quoteFor(agent, 'USDC', 'PYUSD', 3_000_000n),
    );
    const decoded = getTransactionDecoder().decode(bytes);
    const message = getCompiledTransactionMessageDecoder().decode(decoded.messageBytes);
    if (message.version !== 0) throw new Error('not version 0');
    expect(bytes.length).toBeLessThanOrEqual(1232);
    expect(message.header).toMatchObject({ numSignerAccounts: 1 });
    expect(message.staticAccounts[0]).toBe(agent.wallet.address);
    expect(message.addressTableLookups?.length ?? 0).toBeGreaterThan(0);
    const programs = message.instructions.map((instruction) =>
      message.staticAccounts[instruction.programAddressIndex]?.slice(0, 6),
    );
    const pinned = [
      'Comput',
      'Comput',
      'ATokenG'.slice(0, 6),
      'JUP6Lk',
      'Tokenk',
      'Tokenk',
      'Tokenk',
      'TokenzQ'.slice(0, 6),
      'Tokenz',
      'Tokenz',
      '111111',
    ];
    expect(programs).toEqual(pinned);
    expect(expected.priorityFeeLamports).toBeLessThanOrEqual(
      defaultSwapLimits.maxPriorityFeeLamports,
    );
    expect(signature.length).toBeGreaterThan(80);
  });

  it('needs two reads of accounts and one simulation', async () => {
    const agent = await swapper({ SOL: '0.01', USDC: '20', USDT: '1' });
    const quote = await quoteFor(agent, 'USDC', 'USDT', 2_000_000n);
    await sign(agent, quote);
    sandbox.controls.node.resetCalls();
    await sign(agent, quote);
    const calls = sandbox.controls.node.callsByMethod();
    expect(calls['getMultipleAccounts']).toBe(2);
    expect(calls['simulateTransaction']).toBe(1);
    expect(calls['sendTransaction']).toBeUndefined();
  });

  it('pays the priority fee of the market, up to the limit', async () => {
    const agent = await swapper({ SOL: '0.01', USDC: '20', USDT: '1' });
    sandbox.controls.node.intercept = (method, params, next) =>
      method === 'getRecentPrioritizationFees'
        ? [{ slot: 1, prioritizationFee: 10_000_000_000 }]
        : next(params);
    try {
      const { expected } = await sign(agent, await quoteFor(agent, 'USDC', 'USDT', 2_000_000n));
      expect(expected.priorityFeeLamports).toBeGreaterThan(190_000n);
      expect(expected.priorityFeeLamports).toBeLessThanOrEqual(200_000n);
    } finally {
      sandbox.controls.node.intercept = undefined;
    }
  });
});

describe('a swap that the wallet cannot afford', () => {
  it('is refused if the wallet holds less than it may take, also due to reservations', async () => {
    const agent = await swapper({ SOL: '0.01', USDC: '2', USDT: '1' });
    await expect(
      sign(agent, await quoteFor(agent, 'USDC', 'USDT', 2_000_000n)),
    ).rejects.toMatchObject({ code: 'insufficient_funds' });
    const quote = await quoteFor(agent, 'USDC', 'USDT', 1_000_000n);
    const reserved = () => ({ input: 1_000_000n, output: 0n });
    await expect(sign(agent, quote, { reserved })).rejects.toMatchObject({
      code: 'insufficient_funds',
    });
  });
});

describe('a lying aggregator', () => {
  const build = 'POST /swap/v1/swap-instructions';
  type SwapJson = {
    swapInstruction: {
      accounts: { pubkey: string; isSigner: boolean; isWritable: boolean }[];
      data: string;
    };
  };
  const lie = (change: (swap: SwapJson['swapInstruction']) => void) =>
    sandbox.controls.aggregator.lie(build, (answer) => {
      change((answer as unknown as SwapJson).swapInstruction);
      return answer;
    });
  const edit = (swap: SwapJson['swapInstruction'], change: (data: Buffer) => void) => {
    const data = Buffer.from(swap.data, 'base64');
    change(data);
    swap.data = data.toString('base64');
  };

  it.each<[string, string, (swap: SwapJson['swapInstruction']) => void]>([
    [
      'pays the merchant',
      'swap_destination',
      (swap) =>
        void (swap.accounts[2] && (swap.accounts[2].pubkey = ataOf(sandbox.merchant, 'USDT'))),
    ],
    [
      'takes more',
      'swap_max_in',
      (swap) => edit(swap, (data) => data.writeBigUInt64LE(19_000_000n, 16)),
    ],
    [
      'reaches for another account of the wallet',
      'exposed_account',
      (swap) =>
        void swap.accounts.push({ pubkey: bonkOfVictim, isSigner: false, isWritable: true }),
    ],
  ])('is refused if it %s, by the rule %s', async (_, rule, change) => {
    const agent = await swapper({ SOL: '0.01', USDC: '20', USDT: '1', BONK: '5' });
    bonkOfVictim = ataOf(agent.wallet.address, 'BONK');
    const quote = await quoteFor(agent, 'USDC', 'USDT', 2_000_000n);
    lie(change);
    await expect(sign(agent, quote)).rejects.toMatchObject({
      code: 'unsafe_swap',
      details: { rule },
      funds: 'untouched',
      moved: [],
    });
  });

  it('cannot add instructions: the client drops them', async () => {
    const agent = await swapper({ SOL: '0.01', USDC: '20', USDT: '1' });
    sandbox.controls.aggregator.lie(build, (answer) => {
      const evil = {
        programId: '11111111111111111111111111111111',
        accounts: [
          { pubkey: agent.wallet.address, isSigner: true, isWritable: true },
          { pubkey: sandbox.merchant, isSigner: false, isWritable: true },
        ],
        data: 'AgAAAAB0OwAAAAAA',
      };
      return {
        ...answer,
        setupInstructions: [evil],
        otherInstructions: [evil],
        cleanupInstruction: evil,
      };
    });
    const before = lamports(agent);
    const signed = await sign(agent, await quoteFor(agent, 'USDC', 'USDT', 2_000_000n));
    expect(await land(signed)).toMatchObject({ outcome: 'confirmed' });
    expect(before - lamports(agent)).toBe(feesOf(signed));
  });

  let bonkOfVictim = '';
});
