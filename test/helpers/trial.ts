import {
  type Address,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
} from '@solana/kit';
import { isExactChangeError } from 'exact-change';
import { createSandbox, type MintSymbol, type Sandbox } from 'exact-change-sandbox';
import { expect } from 'vitest';
import { POOL_AUTHORITY } from '../../adapters/sandbox/venue/venue.mjs';
import { SOLANA_MAINNET } from '../../src/network.js';
import { systemRuntime } from '../../src/internal/runtime.js';
import { createBlockhashSource } from '../../src/solana/rpc/blockhash.js';
import { connectRpc } from '../../src/solana/rpc/connection.js';
import type { Rpc } from '../../src/solana/rpc/rpc.js';
import { defaultSwapLimits } from './swap-limits.js';
import { extractSwap } from '../../src/swaps/firewall/extract.js';
import { inspectTransaction, type SwapTerms } from '../../src/swaps/firewall/inspect.js';
import { signSwap, type SwapDeps } from '../../src/swaps/transaction/prepare.js';
import type { SwapBuild } from '../../src/swaps/provider.js';
import {
  accountsOf,
  type Deal,
  type Estate,
  estateOn,
  landedOn,
  lossesOf,
  accountStates,
  restoreAccounts,
  signedBy,
  simulatedBy,
  watchedOf,
} from './estate.js';
import { swapDecoders as decoders } from '../../src/swaps/sources.js';

/** A swap to request from the aggregator; the amount is that of the exact side, in base units. */
export interface Wanted {
  readonly from: MintSymbol;
  readonly to: MintSymbol;
  readonly swapMode: 'ExactIn' | 'ExactOut';
  readonly amount: bigint;
  readonly shared: boolean;
}

/** A request for each form of swap; together they cover every kind of account on both sides. */
export const wanted = {
  'route_v2, USDC to USDT': {
    from: 'USDC',
    to: 'USDT',
    swapMode: 'ExactIn',
    amount: 2_000_000n,
    shared: false,
  },
  'exact_out_route_v2, SOL to USDC': {
    from: 'SOL',
    to: 'USDC',
    swapMode: 'ExactOut',
    amount: 2_000_000n,
    shared: false,
  },
  'shared_accounts_route_v2, USDC to SOL': {
    from: 'USDC',
    to: 'SOL',
    swapMode: 'ExactIn',
    amount: 3_000_000n,
    shared: true,
  },
  'shared_accounts_exact_out_route_v2, BONK to PYUSD': {
    ...{ from: 'BONK', to: 'PYUSD', swapMode: 'ExactOut', amount: 700_000n, shared: true },
  },
} as const satisfies Record<string, Wanted>;
export type WantedName = keyof typeof wanted;
export const wantedNames = Object.keys(wanted) as WantedName[]; // The keys of an object literal.

/** A transaction of the aggregator, and the agreed bounds. */
export interface Offer {
  readonly bytes: Uint8Array;
  readonly terms: SwapTerms;
  readonly deal: Deal;
}

/**
 * Counts of judged transactions. `landed` counts transactions that ran on the chain; the rest have
 * an unknown blockhash or repeat a transaction.
 */
export interface Tally {
  refused: number;
  accepted: number;
  landed: number;
}

/** A chain that stands still, a wallet on it, and two ways to judge a foreign swap. */
export class Trial {
  readonly tally: Tally = { refused: 0, accepted: 0, landed: 0 };
  private readonly done = new Map<string, Promise<boolean>>();
  private readonly sent = new Set<string>();

  private constructor(
    readonly sandbox: Sandbox,
    readonly estate: Estate,
    readonly node: Rpc,
    private readonly vaults: readonly Address[],
    /** The only blockhash with which transactions can land. */
    readonly blockhash: string,
  ) {}

  static async open(seed: string): Promise<Trial> {
    const sandbox = await createSandbox({ seed, confirmationMs: 0, slotMs: 0 });
    const rpc = connectRpc({ urls: [sandbox.rpcUrl], wsUrl: sandbox.wsUrl, timeoutMs: 60_000 });
    const vaults = await accountsOf(POOL_AUTHORITY, sandbox.mints);
    const node = standingStill(rpc);
    const { blockhash } = await node.latestBlockhash();
    return new Trial(sandbox, await estateOn(sandbox), node, Object.values(vaults), blockhash);
  }

  async close(): Promise<void> {
    this.node.close();
    await this.sandbox.close();
  }

  /** Requests a whole transaction from the aggregator, as Jupiter's users do. */
  async offer({ from, to, swapMode, amount, shared }: Wanted): Promise<Offer> {
    const { jupiterUrl, mints } = this.sandbox;
    const { wallet } = this.estate;
    const [inputMint, outputMint] = [mints[from].address, mints[to].address];
    const query = {
      inputMint,
      outputMint,
      amount: amount.toString(),
      swapMode,
      slippageBps: '50',
      instructionVersion: 'V2',
    };
    const quote = await fetch(`${jupiterUrl}/swap/v1/quote?${new URLSearchParams(query)}`);
    const quoteResponse = (await quote.json()) as {
      inAmount: string;
      outAmount: string;
      otherAmountThreshold: string;
    }; // Decimal strings.
    const body = {
      quoteResponse,
      userPublicKey: wallet,
      useSharedAccounts: shared,
      dynamicComputeUnitLimit: true,
    };
    const headers = { 'content-type': 'application/json' };
    const swap = await fetch(`${jupiterUrl}/swap/v1/swap`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    const { swapTransaction } = (await swap.json()) as { swapTransaction: string }; // Base64.
    const maxIn = swapMode === 'ExactIn' ? amount : BigInt(quoteResponse.otherAmountThreshold);
    // 50 basis points less, rounded down. Jupiter's API rounds up, but the rounding of its program
    // is unknown.
    const minOut =
      swapMode === 'ExactIn' ? (BigInt(quoteResponse.outAmount) * 9_950n) / 10_000n : amount;
    const maxPriorityFee = defaultSwapLimits.maxPriorityFeeLamports;
    return {
      bytes: Uint8Array.from(Buffer.from(swapTransaction, 'base64')),
      terms: {
        decoders,
        wallet,
        inputMint,
        outputMint,
        maxIn,
        minOut,
        slippageBps: 50,
        maxPriorityFee,
      },
      deal: { from, to, maxIn, minOut, maxFees: 5_000n + maxPriorityFee },
    };
  }

  /**
   * Inspects a whole transaction. If it is accepted, signs it and checks its effects against the
   * deal. Returns whether it was accepted.
   */
  async inspect({ terms, deal }: Offer, transaction: unknown): Promise<boolean> {
    const { broken } = await inspectTransaction(this.node, transaction, terms);
    if (broken !== undefined) return this.refused();
    if (!(transaction instanceof Uint8Array)) throw new Error('accepted what is no bytes');
    return this.accepted(deal, transaction.subarray(65));
  }

  /**
   * Does the same as {@link inspect} on the client's path, which signs a transaction composed from
   * the swap instruction.
   */
  async extract(offer: Offer, transaction: unknown): Promise<boolean> {
    const build = await unlessRefused(
      extractSwap(this.node, transaction, this.estate.wallet, { decoders }),
    );
    if (build === undefined) return this.refused();
    // Most mutations leave the swap instruction unchanged, so judge equal instructions once.
    const key = JSON.stringify([
      offer.terms.inputMint,
      build.lookupTables,
      build.instruction,
      [...build.instruction.data],
    ]);
    const known = this.done.get(key) ?? this.build(offer, build);
    this.done.set(key, known);
    return known;
  }

  /** Passes a build to the client as a provider does. If it is signed, checks its effects. */
  async build({ terms, deal }: Offer, build: SwapBuild): Promise<boolean> {
    const deps: SwapDeps = {
      ...{
        decoders,
        rpc: this.node,
        signer: this.estate.signer,
        network: SOLANA_MAINNET,
        limits: defaultSwapLimits,
      },
      blockhashes: createBlockhashSource(this.node, systemRuntime),
    };
    const signed = await unlessRefused(
      signSwap(deps, { bounds: terms, build: () => Promise.resolve(build) }),
    );
    return signed === undefined ? this.refused() : this.accepted(deal, signed.bytes.subarray(65));
  }

  /**
   * Simulates a transaction. Returns its error, and each way in which it would take more
   * from the wallet than the deal allows.
   */
  async harm(
    deal: Deal,
    wire: Uint8Array,
  ): Promise<{ readonly error: unknown; readonly losses: readonly string[] }> {
    const watched = watchedOf(this.estate);
    const before = accountStates(this.sandbox, watched);
    const { error, after } = await simulatedBy(this.sandbox, wire, watched);
    return { error, losses: error === null ? lossesOf(this.estate, deal, before, after) : [] };
  }

  /**
   * Signs a message, simulates it, and lands it if its blockhash allows. Checks that the wallet
   * keeps the agreed amounts, or loses only the fee if it fails. Returns whether it succeeds.
   */
  async runs(deal: Deal, message: Uint8Array): Promise<boolean> {
    const wire = await signedBy(this.estate, message);
    const { error, losses } = await this.harm(deal, wire);
    expect(losses).toEqual([]);
    if (this.lives(wire)) await this.land(deal, wire, error === null);
    return error === null;
  }

  private refused(): false {
    this.tally.refused += 1;
    return false;
  }

  private async accepted(deal: Deal, message: Uint8Array): Promise<true> {
    this.tally.accepted += 1;
    const wire = await signedBy(this.estate, message);
    expect(await this.harm(deal, wire)).toEqual({ error: null, losses: [] });
    if (this.lives(wire)) await this.land(deal, wire, true);
    return true;
  }

  /** Lands a transaction, checks its effects, and restores the accounts. */
  private async land(deal: Deal, wire: Uint8Array, runs: boolean): Promise<void> {
    const { sandbox, estate } = this;
    const before = accountStates(sandbox, [...watchedOf(estate), ...this.vaults]);
    try {
      const error = await landedOn(sandbox, wire);
      expect(error === null).toBe(runs);
      const allowed = runs ? deal : { ...deal, maxIn: 0n, minOut: 0n };
      expect(lossesOf(estate, allowed, before, accountStates(sandbox, watchedOf(estate)))).toEqual(
        [],
      );
    } finally {
      restoreAccounts(sandbox, before);
    }
    this.tally.landed += 1;
  }

  /** Returns true if a transaction can land: its blockhash is valid, and it has not landed yet. */
  private lives(wire: Uint8Array): boolean {
    const { messageBytes } = getTransactionDecoder().decode(wire);
    const { lifetimeToken } = getCompiledTransactionMessageDecoder().decode(messageBytes);
    const text = Buffer.from(wire).toString('base64');
    if (this.sent.has(text) || lifetimeToken !== this.blockhash) return false;
    this.sent.add(text);
    return true;
  }
}

/**
 * Wraps a node so that it makes each read a single time, because the chain does not change.
 * Simulations run every time.
 */
function standingStill(rpc: Rpc): Rpc {
  return {
    ...rpc,
    accounts: once((addresses: Parameters<Rpc['accounts']>[0]) => rpc.accounts(addresses)),
    rent: once((bytes: number) => rpc.rent(bytes)),
    priorityFees: once((accounts: Parameters<Rpc['priorityFees']>[0]) =>
      rpc.priorityFees(accounts),
    ),
    latestBlockhash: once(() => rpc.latestBlockhash()),
  };
}

function once<A, T>(read: (argument: A) => Promise<T>): (argument: A) => Promise<T> {
  const answers = new Map<string, Promise<T>>();
  return (argument) => {
    const key = JSON.stringify(argument) ?? '';
    const answer = answers.get(key) ?? read(argument);
    answers.set(key, answer);
    return answer;
  };
}

/**
 * Returns undefined if the client refused the swap. An error of the transport is no refusal, so it
 * is thrown.
 */
async function unlessRefused<T>(judged: Promise<T>): Promise<T | undefined> {
  try {
    return await judged;
  } catch (error) {
    if (
      !isExactChangeError(error) ||
      error.name === 'TransportError' ||
      error.funds !== 'untouched'
    )
      throw error;
    return undefined;
  }
}
