import { maxAmount, U64_MAX } from '../../amount.js';
import { isExactChangeError, PolicyError } from '../../errors.js';
import { isSameList } from '../../internal/bytes.js';
import type { BlockhashSource } from '../../solana/rpc/blockhash.js';
import type { CallOptions, Rpc } from '../../solana/rpc/rpc.js';
import { SIGNATURE_LAMPORTS } from '../../solana/transactions/compile.js';
import { assembleTransaction } from '../../solana/transactions/transaction.js';
import type { Instruction, Lifetime } from '../../solana/types.js';
import { MAX_COMPUTE_UNITS } from '../firewall/compute-budget.js';
import { checkSimulation, watchedAccounts } from '../firewall/simulation.js';
import type { SwapDecoder } from '../provider.js';
import { type ComputeBudget, boundedUnitPrice, checkBudget } from './budget.js';
import type { ComposedSwap } from './compose.js';
import type { ReservedAmounts, SwapPlan } from './plan.js';

/** Limits on the costs of our transaction besides the swapped amounts, in lamports. */
export interface SwapLimits {
  readonly maxPriorityFeeLamports: bigint;
  /** Rent of the wallet's token accounts that are created and stay. */
  readonly maxRentLamports: bigint;
}

/**
 * Returns the limits of a policy, which counts the signature among the fees. Throws
 * `fees_over_limit` if the signature alone is above the policy's limit.
 */
export function swapLimits({
  maxFeeLamports,
  maxRentLamports,
}: {
  readonly maxFeeLamports: bigint;
  readonly maxRentLamports: bigint;
}): SwapLimits {
  if (maxFeeLamports >= SIGNATURE_LAMPORTS)
    return { maxPriorityFeeLamports: maxFeeLamports - SIGNATURE_LAMPORTS, maxRentLamports };
  const lamports = SIGNATURE_LAMPORTS.toString();
  throw new PolicyError(
    'fees_over_limit',
    `A transaction costs ${lamports} lamports at least; policy.maxFeeLamports is ${maxFeeLamports}. Raise it.`,
    { details: { lamports, limitLamports: maxFeeLamports.toString() } },
  );
}

/** A composed transaction, and the floors that it must leave. */
export interface Draft
  extends
    Pick<ComposedSwap, 'instructions' | 'message' | 'guardFrom'>,
    Pick<SwapPlan, 'floors' | 'budget' | 'leeway' | 'availableLamports'> {
  readonly swapAt: number | undefined;
}

export interface FinishInput {
  readonly rpc: Rpc;
  readonly decoders: readonly SwapDecoder[];
  readonly blockhashes: Pick<BlockhashSource, 'fresh'>;
  readonly limits: SwapLimits;
  readonly walletMinimum: bigint;
  /** The slot at which the wallet's accounts were read. */
  readonly readAt: number;
  /**
   * The market's price in micro-lamports per compute unit. Rejects if the venue could reach another
   * account of the wallet, so the final transaction waits for it.
   */
  readonly unitPrice: Promise<bigint>;
  /**
   * Returns a number to add to the compute limit, so that otherwise equal transactions differ. It is
   * not added to the price, because a fee limit may leave no room for that.
   */
  readonly next?: (blockhash: string) => Promise<number>;
  readonly reserved: () => Promise<ReservedAmounts>;
  /** See `SwapOrder`. */
  readonly beside?: boolean;
  readonly compose: (compute: ComputeBudget, blockhash: string, reserved: ReservedAmounts) => Draft;
  readonly options: CallOptions;
}

export interface Finished {
  readonly draft: Draft;
  readonly compute: ComputeBudget;
  readonly lifetime: Lifetime;
}

/** Number of compute-budget instructions, which come first. */
const COMPUTE_INSTRUCTIONS = 2;

/**
 * Simulates with the largest compute limit, then composes again with the limit that is needed and a
 * bounded price. If more than the compute budget and the guard's lamports differ between the two
 * transactions, simulates again. Throws `insufficient_sol`, `fees_over_limit`, `simulation_failed`
 * or `unsafe_swap`.
 */
export async function finish(input: FinishInput): Promise<Finished> {
  const { blockhashes, limits, compose, options } = input;
  const reserved = await input.reserved();
  const { blockhash } = await blockhashes.fresh(options);
  const rehearsal = compose({ unitLimit: MAX_COMPUTE_UNITS, unitPrice: 1n }, blockhash, reserved);
  const simulated = simulate(input, rehearsal).catch(async (error: unknown) => {
    if (isExactChangeError(error, 'insufficient_sol'))
      // The error must name enough SOL for the market's price too.
      checkAffordable(input, compose(await dearestCompute(input), blockhash, reserved));
    throw error;
  });
  simulated.catch(() => undefined);
  const unitPrice = await input.unitPrice;
  const used = await simulated;
  const lifetime = await blockhashes.fresh(options);
  const count = (await input.next?.(lifetime.blockhash)) ?? 0;
  const unitLimit = Math.min(MAX_COMPUTE_UNITS, Math.ceil(Number(used) * 1.2) + 5_000 + count);
  const compute = {
    unitLimit,
    unitPrice: boundedUnitPrice(unitPrice, unitLimit, limits.maxPriorityFeeLamports),
  };
  const reservedAtMost = larger(reserved, await input.reserved());
  // `planSwap` reduces this to the balance of the output.
  const leaving = input.beside === true ? { ...reservedAtMost, output: U64_MAX } : reservedAtMost;
  const draft = compose(compute, lifetime.blockhash, leaving);
  if (sameApartFromBudget(rehearsal.instructions, draft.instructions))
    checkAffordable(input, draft);
  else await simulate(input, draft);
  return { draft, compute, lifetime };
}

/** Returns the largest compute budget at the market's price, for a swap with unknown units. */
async function dearestCompute({ unitPrice, limits }: FinishInput): Promise<ComputeBudget> {
  const price = boundedUnitPrice(await unitPrice, MAX_COMPUTE_UNITS, limits.maxPriorityFeeLamports);
  return { unitLimit: MAX_COMPUTE_UNITS, unitPrice: price };
}

function checkAffordable(
  { walletMinimum, limits }: FinishInput,
  { budget, availableLamports, floors }: Draft,
): void {
  checkBudget(floors.wallet, budget, availableLamports, walletMinimum, limits.maxRentLamports);
}

async function simulate(input: FinishInput, draft: Draft): Promise<bigint> {
  checkAffordable(input, draft);
  const wire = assembleTransaction(draft.message, new Map());
  const simulation = await input.rpc.simulate(wire, watchedAccounts(draft.floors), {
    ...input.options,
    minContextSlot: input.readAt,
  });
  const { decoders, readAt } = input;
  checkSimulation(simulation, { ...draft, decoders, readAt });
  return simulation.unitsConsumed;
}

/**
 * Returns the larger of the amounts that were reserved at two moments, because other transactions
 * of ours may begin or land in between.
 */
export function larger(a: ReservedAmounts, b: ReservedAmounts): ReservedAmounts {
  return {
    input: maxAmount(a.input, b.input),
    output: maxAmount(a.output, b.output),
  };
}

function sameApartFromBudget(
  before: readonly Instruction[],
  after: readonly Instruction[],
): boolean {
  const texts = (instructions: readonly Instruction[]) =>
    instructions.slice(COMPUTE_INSTRUCTIONS, -1).map(({ program, accounts, data }) => {
      const named = accounts.map(({ address, signer, writable }) => [address, signer, writable]);
      return JSON.stringify([program, named, [...data]]);
    });
  return isSameList(texts(before), texts(after));
}
