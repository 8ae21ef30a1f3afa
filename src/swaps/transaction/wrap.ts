import { maxAmount } from '../../amount.js';
import { compileMessage } from '../../solana/transactions/compile.js';
import type { Address, Instruction } from '../../solana/types.js';
import type { Floors } from '../firewall/guard.js';
import {
  type ComputeBudget,
  type LamportBudget,
  SIGNATURE_LAMPORTS,
  leastLamports,
  priorityFee,
} from './budget.js';
import { computeInstructions, createOwn, wrapInto } from './compose.js';
import type { OwnAccount } from './own-account.js';

/** The parts that a wrapping transaction is composed from. */
export interface WrapParts {
  readonly wallet: Address;
  /** The wallet's wrapped SOL account. */
  readonly account: OwnAccount;
  /** Lamports to wrap. */
  readonly amount: bigint;
  /** Lamports of the wallet that no other transaction has reserved. */
  readonly availableLamports: bigint;
  /** Lamports that creating the account costs; only used if it does not exist. */
  readonly rent: bigint;
  readonly compute: ComputeBudget;
  readonly blockhash: string;
}

export interface ComposedWrap {
  readonly instructions: readonly Instruction[];
  readonly message: Uint8Array;
  readonly budget: LamportBudget;
  readonly floors: Floors;
}

/**
 * Composes a transaction that turns SOL into wrapped SOL for a payment. It has no guard, because it
 * has no foreign instruction.
 */
export function composeWrap(parts: WrapParts): ComposedWrap {
  const { wallet, account, amount, compute, blockhash } = parts;
  const instructions = [
    ...computeInstructions(compute),
    ...(account.exists ? [] : [createOwn(wallet, account)]),
    ...wrapInto(wallet, account.address, amount),
  ];
  const budget: LamportBudget = {
    networkFee: SIGNATURE_LAMPORTS,
    priorityFee: priorityFee(compute),
    rent: account.exists ? 0n : parts.rent,
    temporaryRent: 0n,
    wrapped: amount,
    returned: 0n,
  };
  const floors: Floors = {
    wallet,
    lamports: maxAmount(leastLamports(parts.availableLamports, budget), 0n),
    tokens: [{ account, least: account.balance + amount, closed: false }],
  };
  return {
    instructions,
    message: compileMessage({ feePayer: wallet, instructions, blockhash }),
    budget,
    floors,
  };
}
