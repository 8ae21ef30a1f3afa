import { ceilDiv } from '../../amount.js';
import { viewOf } from '../../internal/bytes.js';
import { COMPUTE_BUDGET_PROGRAM } from '../../solana/programs.js';
import type { Instruction } from '../../solana/types.js';

export const MAX_COMPUTE_UNITS = 1_400_000;
const MICRO = 1_000_000n;

/** The compute budget of a transaction; the price is in micro-lamports per unit. */
interface ComputeTerms {
  readonly unitLimit: number | undefined;
  readonly unitPrice: bigint | undefined;
}

/**
 * Reads the compute budget: at most one limit and one price. Returns undefined for any other
 * instruction of the program, and for a limit out of range.
 */
export function computeBudgetOf(instructions: readonly Instruction[]): ComputeTerms | undefined {
  let terms: ComputeTerms = { unitLimit: undefined, unitPrice: undefined };
  for (const { program, accounts, data } of instructions) {
    if (program !== COMPUTE_BUDGET_PROGRAM) continue;
    const view = viewOf(data);
    if (accounts.length > 0) return undefined;
    if (data[0] === 2 && data.length === 5 && terms.unitLimit === undefined)
      terms = { ...terms, unitLimit: view.getUint32(1, true) };
    else if (data[0] === 3 && data.length === 9 && terms.unitPrice === undefined)
      terms = { ...terms, unitPrice: view.getBigUint64(1, true) };
    else return undefined;
  }
  const { unitLimit = MAX_COMPUTE_UNITS } = terms;
  // With 0 units the transaction can only fail, and it still pays its fee.
  return unitLimit === 0 || unitLimit > MAX_COMPUTE_UNITS ? undefined : terms;
}

/**
 * Returns the highest possible priority fee in lamports; undefined if the compute budget cannot be
 * read. Without a limit the largest limit counts.
 */
export function priorityFeeOf(instructions: readonly Instruction[]): bigint | undefined {
  const terms = computeBudgetOf(instructions);
  return terms === undefined
    ? undefined
    : ceilDiv(BigInt(terms.unitLimit ?? MAX_COMPUTE_UNITS) * (terms.unitPrice ?? 0n), MICRO);
}
