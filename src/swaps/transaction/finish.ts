import { U64_MAX } from '../../amount.js';
import { isExactChangeError } from '../../errors.js';
import type { CallOptions, Rpc } from '../../solana/rpc/rpc.js';
import { assembleTransaction } from '../../solana/transactions/transaction.js';
import type { Instruction, Lifetime } from '../../solana/types.js';
import type { Floors } from '../firewall/guard.js';
import { checkSimulation, watchedAccounts } from '../firewall/simulation.js';
import type { SwapDecoder } from '../provider.js';
import {
  type ComputeBudget,
  type LamportBudget,
  boundedUnitPrice,
  checkBudget,
  priorityFeeLimit,
} from './budget.js';
import type { ReservedAmounts } from './plan.js';

/** Bounds on what a transaction of ours may cost besides what it swaps; in lamports. */
export interface SwapLimits {
  readonly maxPriorityFeeLamports: bigint;
  /** For token accounts of the wallet that are created and stay. */
  readonly maxRentLamports: bigint;
}

/**
 * The bounds that a policy sets; it counts the signature among the fees. Throws `fees_over_limit`
 * if that alone is above its limit.
 */
export function swapLimits(policy: {
  readonly maxFeeLamports: bigint;
  readonly maxRentLamports: bigint;
}): SwapLimits {
  return {
    maxPriorityFeeLamports: priorityFeeLimit(policy.maxFeeLamports),
    maxRentLamports: policy.maxRentLamports,
  };
}

export const defaultSwapLimits: SwapLimits = {
  maxPriorityFeeLamports: 200_000n,
  maxRentLamports: 10_000_000n,
};

/** How long a blockhash lives, and the slot as of which it was valid. */
export interface DatedLifetime extends Lifetime {
  readonly slot: number;
}

/** Where fresh blockhashes come from. */
export interface BlockhashSource {
  fresh(options?: { readonly signal?: AbortSignal | undefined }): Promise<DatedLifetime>;
}

/** A composed transaction, with what must be true when it is done. */
interface Draft {
  readonly instructions: readonly Instruction[];
  readonly message: Uint8Array;
  readonly floors: Floors;
  readonly budget: LamportBudget;
  readonly leeway: ReservedAmounts;
  readonly availableLamports: bigint;
  /** Position of the instruction that is not ours; undefined if all are. */
  readonly swapAt: number | undefined;
  /** Position of the first guard instruction. */
  readonly guardFrom: number;
}

export interface FinishInput {
  readonly rpc: Rpc;
  readonly decoders: readonly SwapDecoder[];
  readonly blockhashes: BlockhashSource;
  readonly limits: SwapLimits;
  readonly walletMinimum: bigint;
  /** The slot at which the wallet's accounts were read. */
  readonly readAt: number;
  /**
   * Micro-lamports per compute unit that the market asks for. Rejects if what the venue could reach
   * forbids the swap; waited for before anything is final.
   */
  readonly unitPrice: Promise<bigint>;
  /** Added to that: tells apart transactions that are the same but for it. */
  readonly next?: (blockhash: string) => Promise<number>;
  readonly reserved: () => Promise<ReservedAmounts>;
  /** As the order has it. */
  readonly beside?: boolean;
  readonly compose: (compute: ComputeBudget, blockhash: string, reserved: ReservedAmounts) => Draft;
  readonly options: CallOptions;
}

export interface Finished {
  readonly draft: Draft;
  readonly compute: ComputeBudget;
  readonly lifetime: DatedLifetime;
}

const MAX_UNITS = 1_400_000;
/** Both compute-budget instructions come first. */
const COMPUTE_INSTRUCTIONS = 2;

/**
 * Simulates with the largest compute limit, then composes again with what is needed and at a
 * bounded price. Only the compute budget and the guard's lamports may differ between the two;
 * anything else is simulated again. Throws `insufficient_sol`, `fees_over_limit`,
 * `simulation_failed` or `unsafe_swap`.
 */
export async function finish(input: FinishInput): Promise<Finished> {
  const { blockhashes, limits, compose, options } = input;
  const reserved = await input.reserved();
  const { blockhash } = await blockhashes.fresh(options);
  const rehearsal = compose({ unitLimit: MAX_UNITS, unitPrice: 1n }, blockhash, reserved);
  const simulated = simulate(input, rehearsal).catch(async (error: unknown) => {
    if (isExactChangeError(error, 'insufficient_sol'))
      // What is asked for has to be enough, also for the price of the market.
      affordable(input, compose(await dearest(input), blockhash, reserved));
    throw error;
  });
  simulated.catch(() => undefined);
  const unitPrice = await input.unitPrice;
  const used = await simulated;
  const unitLimit = Math.min(MAX_UNITS, Math.ceil(Number(used) * 1.2) + 5_000);
  const lifetime = await blockhashes.fresh(options);
  const wanted = unitPrice + BigInt((await input.next?.(lifetime.blockhash)) ?? 0);
  const compute = {
    unitLimit,
    unitPrice: boundedUnitPrice(wanted, unitLimit, limits.maxPriorityFeeLamports),
  };
  const held = larger(reserved, await input.reserved());
  // No more can be missing than there is.
  const leaving = input.beside === true ? { ...held, output: U64_MAX } : held;
  const draft = compose(compute, lifetime.blockhash, leaving);
  if (sameApartFromBudget(rehearsal.instructions, draft.instructions)) affordable(input, draft);
  else await simulate(input, draft);
  return { draft, compute, lifetime };
}

/** The most that the market's price may cost, as long as no simulation has told the units. */
async function dearest({ unitPrice, limits }: FinishInput): Promise<ComputeBudget> {
  const price = boundedUnitPrice(await unitPrice, MAX_UNITS, limits.maxPriorityFeeLamports);
  return { unitLimit: MAX_UNITS, unitPrice: price };
}

function affordable(
  { walletMinimum, limits }: FinishInput,
  { budget, availableLamports, floors }: Draft,
): void {
  checkBudget(floors.wallet, budget, availableLamports, walletMinimum, limits.maxRentLamports);
}

async function simulate(input: FinishInput, draft: Draft): Promise<bigint> {
  affordable(input, draft);
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
 * What was reserved at either moment: another of our transactions may have begun, or landed, in
 * between.
 */
function larger(a: ReservedAmounts, b: ReservedAmounts): ReservedAmounts {
  const most = (name: keyof ReservedAmounts) => (a[name] > b[name] ? a[name] : b[name]);
  return { input: most('input'), output: most('output'), lamports: most('lamports') };
}

function sameApartFromBudget(
  before: readonly Instruction[],
  after: readonly Instruction[],
): boolean {
  const rest = (all: readonly Instruction[]) => all.slice(COMPUTE_INSTRUCTIONS, -1);
  const others = rest(after);
  return (
    before.length === after.length &&
    rest(before).every((one, index) => sameInstruction(one, others[index]))
  );
}

function sameInstruction(a: Instruction, b: Instruction | undefined): boolean {
  if (
    b === undefined ||
    a.program !== b.program ||
    a.data.length !== b.data.length ||
    a.accounts.length !== b.accounts.length
  )
    return false;
  const sameAccounts = a.accounts.every((one, index) => {
    const other = b.accounts[index];
    return (
      other !== undefined &&
      one.address === other.address &&
      one.signer === other.signer &&
      one.writable === other.writable
    );
  });
  return sameAccounts && a.data.every((byte, index) => byte === b.data[index]);
}
