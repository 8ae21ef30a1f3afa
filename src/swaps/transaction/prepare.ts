import type { Runtime } from '../../internal/runtime.js';
import { WSOL_MINT } from '../../network.js';
import type { CallOptions, Rpc } from '../../solana/rpc/rpc.js';
import type { Signer, SigningIntent } from '../../solana/signer.js';
import type { Address } from '../../solana/types.js';
import { checkSwap, type Relay, type SwapExpectation } from '../firewall/instruction-rules.js';
import { relayFeeIn } from '../firewall/relay.js';
import { checkComposed } from '../firewall/self-check.js';
import { fetchLookupTables } from '../firewall/tables.js';
import type { SwapBuild, SwapDecoder } from '../provider.js';
import { readMarket, readRents } from '../quote/market.js';
import type { SwapQuote } from '../types.js';
import { requiredLamports, type ComputeBudget, type LamportBudget } from './budget.js';
import { composeSwap } from './compose.js';
import {
  finish,
  type BlockhashSource,
  type DatedLifetime,
  type Finished,
  type SwapLimits,
} from './finish.js';
import { nothingReserved, type ReservedAmounts, type SwapFacts } from './plan.js';
import { readWallet, TOKEN_ACCOUNT_BYTES } from './read-facts.js';
import { signMessage } from './sign.js';

export interface SwapDeps {
  /** What reads the instructions of each program that may swap. */
  readonly decoders: readonly SwapDecoder[];
  readonly rpc: Rpc;
  readonly signer: Signer;
  readonly runtime: Runtime;
  readonly blockhashes: BlockhashSource;
  /** CAIP-2. */
  readonly network: string;
  readonly limits: SwapLimits;
}

/** What a swap may take and must bring; amounts in base units. */
export interface SwapBounds {
  readonly inputMint: Address;
  readonly outputMint: Address;
  readonly maxIn: bigint;
  readonly minOut: bigint;
  readonly slippageBps: number;
}

export interface SwapOrder {
  readonly bounds: SwapBounds;
  readonly build: (signal?: AbortSignal) => Promise<SwapBuild>;
  /** The output is wrapped SOL, and wanted as such: a payment is made in it. */
  readonly keepWrapped?: boolean | undefined;
  /**
   * Called with what it takes at most before anything is signed; a rejection keeps it from being
   * signed.
   */
  readonly onPlanned?: ((expected: SwapOutlook) => Promise<void>) | undefined;
  /** What others of our transactions may still take; read before and after the chain is. */
  readonly reserved?: (() => ReservedAmounts | Promise<ReservedAmounts>) | undefined;
  /** What pays its lamports, if the wallet does not. */
  readonly relay?: Relay | undefined;
  /** The guard lets nothing be missing: the swap fails if one of those lands meanwhile. */
  readonly isStrict?: boolean | undefined;
  /**
   * Payments may begin while it lands, out of all that there is of the output: what is signed lets
   * that be missing. It is rehearsed without, so that a venue has to bring all that was agreed.
   */
  readonly beside?: boolean | undefined;
  /** The chain is read at this slot or later. */
  readonly minContextSlot?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a prepared transaction will do at most, and cost. Amounts in base units or lamports. */
export interface SwapOutlook extends SwapBounds {
  /** The wallet's own token accounts. */
  readonly source: Address;
  readonly output: Address;
  /**
   * What it takes from held so much before, as of a slot: base units, or lamports of the wallet if
   * it sells SOL.
   */
  readonly before: { readonly amount: bigint; readonly slot: number };
  /** What more the guard lets be missing, because payments in flight may take it. */
  readonly leeway: ReservedAmounts;
  /** Base units that the output account held before. */
  readonly outputBefore: bigint;
  readonly relay?: Relay | undefined;
  /** Of the wallet: nothing of these if a relayer pays. */
  readonly networkFeeLamports: bigint;
  readonly priorityFeeLamports: bigint;
  /** Rent of accounts that stay. */
  readonly rentLamports: bigint;
  /** SOL that the wallet must have for it to run, the wallet's own minimum included. */
  readonly requiredLamports: bigint;
}

export interface PreparedSwap {
  /** The serialized v0 message, unsigned. */
  readonly message: Uint8Array;
  readonly lifetime: DatedLifetime;
  readonly compute: ComputeBudget;
  readonly expected: SwapOutlook;
}

export interface SignedSwap {
  /** Signed wire bytes. Nothing has been sent. */
  readonly bytes: Uint8Array;
  /** Base58: the transaction's id, which is the fee payer's signature. */
  readonly signature: string;
  /** Base58: the wallet's own. */
  readonly payerSignature: string;
  readonly lifetime: DatedLifetime;
  readonly expected: SwapOutlook;
}

/** The bounds that a quote promises. */
export function boundsOf(quote: SwapQuote): SwapBounds {
  const { inputMint, outputMint, slippageBps } = quote;
  return {
    inputMint,
    outputMint,
    slippageBps,
    maxIn: BigInt(quote.maxInAmount),
    minOut: BigInt(quote.minOutAmount),
  };
}

/**
 * Builds, checks, composes and simulates a swap without signing it. Throws what the provider
 * throws, `unsafe_swap`, `transaction_too_large` (quote again with fewer accounts:
 * `maxAccountsLadder`), `insufficient_funds`, `insufficient_sol`, `account_unusable`,
 * `unknown_mint`, `mint_not_supported`, `fees_over_limit`, `simulation_failed` or
 * `self_check_failed`. Nothing of it has left this process.
 */
export async function prepareSwap(
  deps: Omit<SwapDeps, 'signer' | 'network'>,
  wallet: Address,
  order: SwapOrder,
): Promise<PreparedSwap> {
  const { rpc, limits, blockhashes, decoders } = deps;
  const { bounds, keepWrapped = false, isStrict = false, beside = false, relay } = order;
  const options: CallOptions = { signal: order.signal, minContextSlot: order.minContextSlot };
  const reserved = async () => order.reserved?.() ?? nothingReserved;
  const before = await reserved();
  const [{ legs, lamports, slot }, build] = await Promise.all([
    readWallet(rpc, wallet, [bounds.inputMint, bounds.outputMint], options),
    order.build(order.signal),
    // Kept, and there when it is known which accounts are missing.
    rpc.rent(0, options),
    rpc.rent(TOKEN_ACCOUNT_BYTES, options),
  ]);
  const [input, output] = legs;
  if (input === undefined || output === undefined) throw new TypeError('a leg was not read');
  const expected: SwapExpectation = {
    decoders,
    wallet,
    ...bounds,
    relay,
    inputProgram: input.mint.tokenProgram,
    outputProgram: output.mint.tokenProgram,
  };
  checkSwap(build.instruction, expected);
  const later = { ...options, minContextSlot: slot };
  // The simulation waits for neither of both; what is signed does.
  const unitPrice = readMarket(rpc, wallet, build.instruction, [input, output], later);
  unitPrice.catch(() => undefined);
  const [rents, lookupTables] = await Promise.all([
    readRents(rpc, [input, output], options),
    fetchLookupTables(rpc, build.lookupTables, options),
  ]);
  // What pays no fee may be empty.
  const walletMinimum = relay === undefined ? rents.walletMinimum : 0n;
  const facts = {
    source: input.account,
    output: output.account,
    lamports,
    ...rents,
    walletMinimum,
  };
  const finished = await finish({
    ...{
      rpc,
      limits,
      blockhashes,
      decoders,
      options,
      walletMinimum,
      readAt: slot,
      reserved: mergedWith(before, reserved),
      unitPrice,
      beside,
    },
    compose: (compute, blockhash, held) => {
      const parts = {
        expected,
        instruction: build.instruction,
        keepWrapped,
        compute,
        blockhash,
        lookupTables,
      };
      const { plan, ...composed } = composeSwap({
        ...parts,
        facts: { ...facts, reserved: held, leeway: isStrict ? nothingReserved : held },
      });
      return { ...composed, ...plan };
    },
  });
  const { message, floors } = finished.draft;
  const maxPriorityFee = limits.maxPriorityFeeLamports;
  checkComposed(message, {
    expected,
    instruction: build.instruction,
    floors,
    lookupTables,
    maxPriorityFee,
  });
  return prepared(finished, { ...bounds, relay }, facts, slot);
}

/**
 * Prepares a swap and has the wallet sign it; sends nothing. Throws what {@link prepareSwap}
 * throws, and `signing_failed`.
 */
export async function signSwap(deps: SwapDeps, order: SwapOrder): Promise<SignedSwap> {
  const { signer, network } = deps;
  const { message, lifetime, expected } = await prepareSwap(deps, signer.address, order);
  await order.onPlanned?.(expected);
  const intent = intentOf(network, expected);
  return { ...(await signMessage(signer, message, intent, order.signal)), lifetime, expected };
}

/** What a swap takes and brings at most and least, the fee of a relayer counted. */
export function swappedAtMost(
  expected: Pick<SwapOutlook, 'inputMint' | 'outputMint' | 'maxIn' | 'minOut' | 'relay'>,
): { readonly maxIn: bigint; readonly minOut: bigint } {
  const { inputMint, outputMint, maxIn, minOut } = expected;
  return {
    maxIn: maxIn + relayFeeIn(expected, inputMint),
    minOut: minOut - relayFeeIn(expected, outputMint),
  };
}

/** A swap in the words that a signer is asked with. */
export function intentOf(network: string, expected: SwapOutlook): SigningIntent {
  const { inputMint, outputMint } = expected;
  const { maxIn, minOut } = swappedAtMost(expected);
  const amounts = { maxInAmount: maxIn.toString(), minOutAmount: minOut.toString() };
  return { kind: 'swap', network, inputMint, outputMint, ...amounts };
}

/**
 * What was reserved before the chain was read counts on: it may have landed since, unseen by that
 * read.
 */
function mergedWith(
  before: ReservedAmounts,
  reserved: () => Promise<ReservedAmounts>,
): () => Promise<ReservedAmounts> {
  const most = (a: bigint, b: bigint) => (a > b ? a : b);
  return async () => {
    const now = await reserved();
    return {
      input: most(before.input, now.input),
      output: most(before.output, now.output),
      lamports: most(before.lamports, now.lamports),
    };
  };
}

/** @param readAt - The slot as of which the wallet was read. */
function prepared(
  { draft, compute, lifetime }: Finished,
  bounds: SwapBounds & Pick<SwapOrder, 'relay'>,
  facts: Omit<SwapFacts, 'reserved' | 'leeway'>,
  readAt: number,
): PreparedSwap {
  const budget: LamportBudget = draft.budget;
  const expected: SwapOutlook = {
    ...bounds,
    source: facts.source.address,
    output: facts.output.address,
    before: {
      amount: bounds.inputMint === WSOL_MINT ? facts.lamports : facts.source.balance,
      slot: readAt,
    },
    leeway: draft.leeway,
    outputBefore: facts.output.balance,
    networkFeeLamports: budget.networkFee,
    priorityFeeLamports: budget.priorityFee,
    rentLamports: budget.rent,
    requiredLamports: requiredLamports(budget, facts.walletMinimum),
  };
  return { message: draft.message, compute, expected, lifetime };
}
