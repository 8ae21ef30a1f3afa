import { base64 } from '../internal/bytes.js';
import { maxAmount, minAmount } from '../amount.js';
import { isExactChangeError } from '../errors.js';
import type { Runtime } from '../internal/runtime.js';
import { createBlockhashSource } from '../solana/rpc/blockhash.js';
import type { Rpc } from '../solana/rpc/rpc.js';
import { assembleTransaction } from '../solana/transactions/transaction.js';
import { decodeSwap } from './firewall/decoders.js';
import { extractSwap } from './firewall/extract.js';
import { inspectTransaction, type SwapTerms } from './firewall/inspect.js';
import { type SwapVerdict, verdictOf } from './firewall/verdict.js';
import type { SwapCall, SwapDecoder } from './provider.js';
import type { SwapLimits } from './transaction/finish.js';
import { prepareSwap, type SwapBounds } from './transaction/prepare.js';

export interface InspectionDeps {
  readonly rpc: Rpc;
  readonly runtime: Runtime;
  /** CAIP-2. */
  readonly network: string;
  readonly limits: SwapLimits;
  readonly decoders: readonly SwapDecoder[];
}

export type InspectionBounds = Omit<SwapTerms, 'maxPriorityFee' | 'decoders'>;

/**
 * Judges a foreign transaction as it is. If it has no guard that enforces the bounds when it lands,
 * composes its swap anew.
 */
export async function inspectWith(
  deps: InspectionDeps,
  transaction: unknown,
  bounds: InspectionBounds,
  signal: AbortSignal | undefined,
): Promise<SwapVerdict> {
  const terms = {
    ...bounds,
    decoders: deps.decoders,
    maxPriorityFee: deps.limits.maxPriorityFeeLamports,
  };
  const findings = await inspectTransaction(deps.rpc, transaction, terms, { signal });
  const recomposed = findings.guarded
    ? undefined
    : await recompose(deps, transaction, bounds, signal);
  return { ...verdictOf(findings, deps.network, deps.decoders), recomposed };
}

async function recompose(
  { rpc, runtime, limits, decoders }: InspectionDeps,
  transaction: unknown,
  bounds: InspectionBounds,
  signal: AbortSignal | undefined,
): Promise<SwapVerdict['recomposed']> {
  const blockhashes = createBlockhashSource(rpc, runtime);
  try {
    const build = await extractSwap(rpc, transaction, bounds.wallet, { signal, decoders });
    const order = {
      bounds: tightened(bounds, decodeSwap(decoders, build.instruction)),
      build: () => Promise.resolve(build),
      signal,
    };
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
