import { WSOL_MINT } from '../../network.js';
import { compileMessage } from '../../solana/transactions/compile.js';
import {
  computeUnitLimit,
  computeUnitPrice,
  transferChecked,
} from '../../solana/transactions/instructions.js';
import {
  closeTokenAccount,
  createAssociatedTokenAccount,
  syncNative,
  transferLamports,
} from '../../solana/transactions/swap-instructions.js';
import type { Address, Instruction, LookupTable } from '../../solana/types.js';
import { guard } from '../firewall/guard.js';
import type { SwapExpectation } from '../firewall/instruction-rules.js';
import { feePayerOf, relayFeeOf } from '../firewall/relay.js';
import type { ComputeBudget } from './budget.js';
import type { OwnAccount } from './own-account.js';
import { type SwapFacts, type SwapPlan, planSwap } from './plan.js';

/**
 * Fewer accounts, smaller transaction, worse price: what to ask for, one after the other, when a
 * swap was `transaction_too_large`. The first try sets no bound.
 */
export const maxAccountsLadder: readonly number[] = [48, 40, 32, 24, 20];

/** All that a swap transaction is made from. */
export interface SwapParts {
  readonly expected: SwapExpectation;
  /** The one instruction that is not ours; the firewall has passed it. */
  readonly instruction: Instruction;
  readonly facts: SwapFacts;
  /** The output is wrapped SOL, and wanted as such. */
  readonly keepWrapped: boolean;
  readonly compute: ComputeBudget;
  readonly blockhash: string;
  readonly lookupTables: readonly LookupTable[];
}

export interface ComposedSwap {
  readonly instructions: readonly Instruction[];
  /** The serialized v0 message: what the wallet signs. */
  readonly message: Uint8Array;
  readonly plan: SwapPlan;
  /** Position of the instruction that is not ours. */
  readonly swapAt: number;
  /** Position of the first guard instruction. */
  readonly guardFrom: number;
}

/**
 * Composes the transaction: compute budget, the accounts that are missing, wrapping, the swap,
 * the fee of a relayer, unwrapping, guard. Throws `transaction_too_large`, or `insufficient_funds` if the source holds
 * less than the swap may take.
 */
export function composeSwap(parts: SwapParts): ComposedSwap {
  const { expected, facts, compute } = parts;
  const { wallet } = expected;
  const feePayer = feePayerOf(expected);
  const plan = planSwap(expected, facts, compute, parts.keepWrapped);
  const body = [
    ...computeInstructions(compute),
    ...(plan.createSource ? [createOwn(wallet, facts.source, feePayer)] : []),
    ...(plan.createOutput ? [createOwn(wallet, facts.output, feePayer)] : []),
    ...wrapInto(wallet, facts.source.address, plan.wrap),
    ...plan.sync.map((account) => syncNative({ account })),
    parts.instruction,
    ...payRelay(expected, facts),
    ...(plan.closeSource ? [closeOwn(wallet, facts.source)] : []),
    ...(plan.closeOutput ? [closeOwn(wallet, facts.output)] : []),
  ];
  const instructions = [...body, ...guard(plan.floors)];
  const { blockhash, lookupTables } = parts;
  const message = compileMessage({ feePayer, instructions, blockhash, lookupTables });
  return {
    instructions,
    message,
    plan,
    swapAt: body.indexOf(parts.instruction),
    guardFrom: body.length,
  };
}

export function computeInstructions({ unitLimit, unitPrice }: ComputeBudget): Instruction[] {
  return [computeUnitLimit(unitLimit), computeUnitPrice(unitPrice)];
}

export function createOwn(
  wallet: Address,
  { address, mint, tokenProgram }: OwnAccount,
  payer = wallet,
): Instruction {
  return createAssociatedTokenAccount({
    payer,
    account: address,
    owner: wallet,
    mint,
    tokenProgram,
  });
}

/** After the swap: the fee may be in what that brings. */
function payRelay(expected: SwapExpectation, { source, output }: SwapFacts): Instruction[] {
  const fee = relayFeeOf(expected);
  const { decimals } = fee?.mint === source.mint ? source : output;
  return fee === undefined
    ? []
    : [transferChecked({ ...fee, authority: expected.wallet, decimals })];
}

/** Moves SOL into a wrapped SOL account and makes its balance count. */
export function wrapInto(wallet: Address, account: Address, lamports: bigint): Instruction[] {
  return lamports === 0n
    ? []
    : [transferLamports({ from: wallet, to: account, lamports }), syncNative({ account })];
}

function closeOwn(wallet: Address, { address, mint, tokenProgram }: OwnAccount): Instruction {
  // Closing any other account would burn nothing but would not unwrap either: a bug of ours, not an
  // input.
  if (mint !== WSOL_MINT) throw new TypeError('only a wrapped SOL account is closed');
  return closeTokenAccount({
    account: address,
    destination: wallet,
    authority: wallet,
    tokenProgram,
  });
}
