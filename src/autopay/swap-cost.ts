import { isExactChangeError } from '../errors.js';
import type { Attempt, SwapOutcome } from '../journal/types.js';
import { pinnedMint, WSOL_MINT } from '../network.js';
import { noSwapCost, plusSwap, type SwapCost } from '../policy/cost.js';
import type { Address } from '../solana/types.js';
import type { Core } from './core.js';
import { PRICE_MEMORY_MS, worthOf, type Worth } from './value.js';

/** What one swap takes and brings, at most and at least before it lands, as it is afterwards. Base units and lamports. */
export interface SwapTaking {
  readonly inAmount: bigint;
  readonly outAmount: bigint;
  /** Network and priority fee, and rent of token accounts that stay. */
  readonly lamports: bigint;
}

/** Counts what one swap takes, at the prices that held when it was made. */
export type SwapValuer = (taking: SwapTaking) => SwapCost;

type Price = Pick<Attempt, 'mint' | 'amount' | 'microUsd'>;

/**
 * How swaps between two mints are counted for a payment. Rejects if a price cannot be asked for, unless the caller bounds the input in base units.
 *
 * @param price - Of the payment that the swap is for.
 */
export async function swapValuer(
  core: Core,
  pair: { readonly inputMint: Address; readonly outputMint: Address },
  price: Price,
  signal: AbortSignal | undefined,
): Promise<SwapValuer> {
  const { inputMint, outputMint } = pair;
  const { network, policy } = core.config;
  const isBounded = policy.maxInAmount.has(inputMint);
  const isPinned = pinnedMint(network, outputMint) !== undefined;
  const [input, output, sol] = await Promise.all([
    worthOf(core, inputMint, signal).catch(isBounded ? withoutPrice : rethrow),
    isPinned ? worthOf(core, outputMint, signal).catch(isBounded ? withoutPrice : rethrow) : undefined,
    // A fee is small, so its price may be older.
    worthOf(core, WSOL_MINT, signal, undefined, PRICE_MEMORY_MS).catch(withoutPrice),
  ]);
  const isWrap = inputMint === outputMint;
  return ({ inAmount, outAmount, lamports }) => ({
    swaps: 1,
    lossMicroUsd: isWrap ? '0' : lossOf(input, isPinned ? output : undefined, inAmount, outAmount).toString(),
    feeMicroUsd: (sol?.most(lamports) ?? 0n).toString(),
    lamports: lamports.toString(),
    inputs: isWrap ? {} : { [inputMint]: inAmount.toString() },
    boughtMicroUsd: isPinned || input === undefined ? '0' : boughtBy(price, outAmount).toString(),
  });
}

/** What goes in beyond what comes back in a token that is sure to be worth something: all of it, if the output is not pinned. */
function lossOf(input: Worth | undefined, output: Worth | undefined, inAmount: bigint, outAmount: bigint): bigint {
  const loss = (input?.most(inAmount) ?? 0n) - (output?.least(outAmount) ?? 0n);
  return loss > 0n ? loss : 0n;
}

/** The share of the price that was bought with what is counted already. */
function boughtBy({ amount, microUsd = '0' }: Price, outAmount: bigint): bigint {
  const units = BigInt(amount);
  return (BigInt(microUsd) * (outAmount < units ? outAmount : units)) / units;
}

/** An attempt whose swap was decided, with what that took in place of what it took at most. */
export function withSwapCost(attempt: Attempt, outcome: SwapOutcome, value: SwapValuer | undefined): Attempt {
  const { swapping, swap, ...rest } = attempt;
  const decided = { ...rest, ...(swap === undefined ? {} : { swap: { ...swap, outcome } }) };
  const cost = swapping === undefined ? undefined : costAfter(swapping, outcome, value);
  return cost === undefined ? decided : { ...decided, swapped: plusSwap(attempt.swapped ?? noSwapCost, cost) };
}

/** An attempt without the bound of a swap that was never signed, or can never land. */
export function withoutBound({ swapping: _bound, ...attempt }: Attempt): Attempt {
  return attempt;
}

/** Undefined if nothing was taken. Without prices, or without the amounts that the chain shows, the bound counts. */
function costAfter(bound: SwapCost, outcome: SwapOutcome, value: SwapValuer | undefined): SwapCost | undefined {
  if (outcome.state === 'confirmed') {
    const { rentLamports } = outcome;
    if (value === undefined || rentLamports === undefined) return bound;
    const lamports = BigInt(outcome.feeLamports) + BigInt(rentLamports);
    return value({ inAmount: positive(outcome.inAmount), outAmount: positive(outcome.outAmount), lamports });
  }
  if (outcome.code === 'swap_expired') return undefined;
  const { feeLamports } = outcome;
  const failed = { ...bound, lossMicroUsd: '0', inputs: {}, boughtMicroUsd: '0' };
  return value === undefined || feeLamports === undefined
    ? failed
    : { ...value({ inAmount: 0n, outAmount: 0n, lamports: BigInt(feeLamports) }), inputs: {} };
}

/** What the chain shows may look like nonsense if others use the wallet too: a swap never gives credit. */
function positive(amount: string): bigint {
  const units = BigInt(amount);
  return units > 0n ? units : 0n;
}

function withoutPrice(error: unknown): undefined {
  if (isExactChangeError(error)) return undefined;
  throw error;
}

function rethrow(error: unknown): never {
  throw error;
}
