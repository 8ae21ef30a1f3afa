import { maxAmount, minAmount } from './amount.js';
import { connectTo } from './config/connect.js';
import type { LocalSettings } from './config/options.js';
import { isExactChangeError } from './errors.js';
import { base64 } from './internal/bytes.js';
import { createBlockhashSource } from './solana/rpc/blockhash.js';
import type { Rpc } from './solana/rpc/rpc.js';
import { assembleTransaction } from './solana/transactions/transaction.js';
import { decodeSwap } from './swaps/firewall/decoders.js';
import { type ForeignSwap, onOwnAccount } from './swaps/firewall/extract.js';
import { inspectTransaction, type SwapTerms } from './swaps/firewall/inspect.js';
import { type SwapVerdict, verdictOf } from './swaps/firewall/verdict.js';
import type { SwapCall } from './swaps/provider.js';
import { swapDecoders as decoders } from './swaps/sources.js';
import { swapLimits, type SwapLimits } from './swaps/transaction/finish.js';
import { prepareSwap, type SwapBounds } from './swaps/transaction/prepare.js';

export type InspectionBounds = Omit<SwapTerms, 'maxPriorityFee' | 'decoders'>;

/**
 * @internal The part of `inspectSwap` that its first call loads, because it needs web3.js. Judges a
 * foreign transaction as it is. If it has no guard that enforces the bounds when it lands, composes
 * its swap anew.
 */
export async function inspectOver(
  settings: LocalSettings,
  transaction: unknown,
  bounds: InspectionBounds,
  signal: AbortSignal | undefined,
): Promise<SwapVerdict> {
  const { runtime, network, policy } = settings;
  const limits = swapLimits(policy);
  const terms = { ...bounds, decoders, maxPriorityFee: limits.maxPriorityFeeLamports };
  const rpc = connectTo(settings);
  try {
    const findings = await inspectTransaction(rpc, transaction, terms, { signal });
    const { guarded, foreign } = findings;
    const recomposed =
      guarded || foreign === undefined
        ? undefined
        : await recompose({ rpc, runtime, limits }, foreign, bounds, signal);
    return { ...verdictOf(findings, network, decoders), recomposed };
  } finally {
    rpc.close();
  }
}

async function recompose(
  {
    rpc,
    runtime,
    limits,
  }: Pick<LocalSettings, 'runtime'> & { readonly rpc: Rpc; readonly limits: SwapLimits },
  foreign: ForeignSwap,
  bounds: InspectionBounds,
  signal: AbortSignal | undefined,
): Promise<SwapVerdict['recomposed']> {
  const blockhashes = createBlockhashSource(rpc, runtime);
  const instruction = onOwnAccount(foreign, bounds.wallet);
  const build = { instruction, lookupTables: foreign.lookupTables };
  const order = {
    bounds: tightened(bounds, decodeSwap(decoders, instruction)),
    build: () => Promise.resolve(build),
    signal,
  };
  try {
    const { message, lifetime } = await prepareSwap(
      { rpc, blockhashes, limits, decoders },
      bounds.wallet,
      order,
    );
    return {
      transaction: base64.encode(assembleTransaction(message, new Map())),
      lastValidBlockHeight: lifetime.lastValidBlockHeight.toString(),
    };
  } catch (error) {
    // Only a failed node rejects: the verdict says why a swap is refused, not that a node failed.
    if (!isExactChangeError(error) || error.name === 'TransportError') throw error;
    return undefined;
  }
}

/** Returns the stricter of the caller's bounds and the instruction's own, for the guard to enforce. */
function tightened<Bounds extends SwapBounds>(bounds: Bounds, call: SwapCall | undefined): Bounds {
  if (call === undefined) return bounds;
  return {
    ...bounds,
    maxIn: minAmount(bounds.maxIn, call.maxIn),
    minOut: maxAmount(bounds.minOut, call.minOut),
  };
}
