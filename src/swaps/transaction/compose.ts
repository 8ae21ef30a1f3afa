import { compileMessage } from '../../solana/transactions/compile.js';
import {
  computeUnitLimit,
  computeUnitPrice,
  transferChecked,
  withdrawExcessLamports,
} from '../../solana/transactions/instructions.js';
import {
  closeTokenAccount,
  syncNative,
  transferLamports,
} from '../../solana/transactions/swap-instructions.js';
import type { Address, Instruction, LookupTable } from '../../solana/types.js';
import { guard } from '../firewall/guard.js';
import type { SwapExpectation } from '../firewall/swap-rules.js';
import { feePayerOf, relayFeeOf } from '../firewall/relay.js';
import { createOwn, intoWallet } from '../accounts/own-instructions.js';
import type { ComputeBudget } from './budget.js';
import { type SwapFacts, type SwapPlan, planSwap } from './plan.js';

/**
 * Values of `maxAccounts` to try in turn after a swap was `transaction_too_large`. Fewer accounts
 * make a smaller transaction and a worse price, so the first quote has no limit.
 */
export const maxAccountsLadder: readonly number[] = [48, 40, 32, 24, 20];

export interface SwapParts {
  readonly expected: SwapExpectation;
  /** The swap, which is the only instruction that is not ours; the firewall has passed it. */
  readonly instruction: Instruction;
  readonly facts: SwapFacts;
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
  readonly swapAt: number;
  readonly guardFrom: number;
}

/**
 * Composes the transaction: compute budget, creation of missing accounts, wrapping, withdrawal of
 * lamports beyond rents, swap, relayer's fee, unwrapping, guard. Throws `transaction_too_large`, or
 * `insufficient_funds` if the source holds less than the swap may take.
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
    ...plan.claims.map((account) => withdrawExcessLamports(intoWallet(wallet, account))),
    parts.instruction,
    ...payRelay(expected, facts),
    ...(plan.closeSource ? [closeTokenAccount(intoWallet(wallet, facts.source))] : []),
    ...(plan.closeOutput ? [closeTokenAccount(intoWallet(wallet, facts.output))] : []),
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

/** Returns the transfer of a relayer's fee. It follows the swap, which may bring the tokens for it. */
function payRelay(expected: SwapExpectation, { source, output }: SwapFacts): Instruction[] {
  const fee = relayFeeOf(expected);
  const { decimals } = fee?.mint === source.mint ? source : output;
  return fee === undefined
    ? []
    : [transferChecked({ ...fee, authority: expected.wallet, decimals })];
}

/** Moves SOL into a wrapped SOL account and has it counted (`SyncNative`). */
export function wrapInto(wallet: Address, account: Address, lamports: bigint): Instruction[] {
  return lamports === 0n
    ? []
    : [transferLamports({ from: wallet, to: account, lamports }), syncNative({ account })];
}
