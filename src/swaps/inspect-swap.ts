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

/** What an inspection works with. */
export interface InspectionDeps {
  readonly rpc: Rpc;
  readonly runtime: Runtime;
  /** CAIP-2. */
  readonly network: string;
  readonly limits: SwapLimits;
  readonly decoders: readonly SwapDecoder[];
}

/** What the swap may do, and of which wallet. */
export type InspectionBounds = Omit<SwapTerms, 'maxPriorityFee' | 'decoders'>;

/**
 * Judges a foreign transaction as it is, and composes its swap anew if nothing holds it to its
 * bounds when it lands.
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
  const found = await inspectTransaction(deps.rpc, transaction, terms, { signal });
  const recomposed = found.guarded ? undefined : await recompose(deps, transaction, bounds, signal);
  return { ...verdictOf(found, deps.network, deps.decoders), recomposed };
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
      { rpc, runtime, blockhashes, limits, decoders },
      bounds.wallet,
      order,
    );
    return {
      transaction: base64.encode(assembleTransaction(message, new Map())),
      lastValidBlockHeight: lifetime.lastValidBlockHeight.toString(),
    };
  } catch (error) {
    // What the swap itself is refused for is in the verdict; a node that does not answer is not.
    if (!isExactChangeError(error) || error.name === 'TransportError') throw error;
    return undefined;
  }
}

/**
 * The guard holds it to what the instruction itself promises, if that is better than what was
 * asked for.
 */
function tightened<Bounds extends SwapBounds>(bounds: Bounds, call: SwapCall | undefined): Bounds {
  if (call === undefined) return bounds;
  return {
    ...bounds,
    maxIn: minAmount(bounds.maxIn, call.maxIn),
    minOut: maxAmount(bounds.minOut, call.minOut),
  };
}
