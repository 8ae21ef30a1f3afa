import { U64_MAX } from '../../amount.js';
import { TransactionError } from '../../errors.js';
import { COMPUTE_BUDGET_PROGRAM, MEMO_PROGRAM } from '../programs.js';
import type { Address, Instruction } from '../types.js';

/** First byte of the data: two token instructions, and two of the compute budget program. */
const TRANSFER_CHECKED = 12;
const WITHDRAW_EXCESS_LAMPORTS = 38;
const SET_UNIT_LIMIT = 2;
const SET_UNIT_PRICE = 3;

/** Transfers tokens; the chain rejects it unless the mint has these decimals. */
export function transferChecked(input: {
  readonly source: Address;
  readonly mint: Address;
  readonly destination: Address;
  readonly authority: Address;
  readonly amount: bigint;
  readonly decimals: number;
  readonly tokenProgram: Address;
}): Instruction {
  const { source, mint, destination, authority, decimals, tokenProgram } = input;
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 0xff)
    throw selfCheckFailed('decimals are not within 0 and 255');
  return {
    program: tokenProgram,
    accounts: [
      { address: source, signer: false, writable: true },
      { address: mint, signer: false, writable: false },
      { address: destination, signer: false, writable: true },
      { address: authority, signer: true, writable: false },
    ],
    data: Uint8Array.of(TRANSFER_CHECKED, ...littleEndian(u64(input.amount), 8), decimals),
  };
}

/** A token account, and the wallet that signs for it. */
export interface OwnedAccount {
  readonly account: Address;
  readonly authority: Address;
  readonly tokenProgram: Address;
}

/** A token account that gives lamports to another account. */
export interface GivingAccount extends OwnedAccount {
  readonly destination: Address;
}

/** Withdraws the lamports of a token account beyond its rent; fails for wrapped SOL. */
export function withdrawExcessLamports(input: GivingAccount): Instruction {
  const { account, destination, authority, tokenProgram } = input;
  return {
    program: tokenProgram,
    accounts: [
      { address: account, signer: false, writable: true },
      { address: destination, signer: false, writable: true },
      { address: authority, signer: true, writable: false },
    ],
    data: Uint8Array.of(WITHDRAW_EXCESS_LAMPORTS),
  };
}

/** Sets the most compute units that the transaction may use; the priority fee counts them. */
export function computeUnitLimit(units: number): Instruction {
  if (!Number.isInteger(units) || units < 0 || units > 0xffff_ffff)
    throw selfCheckFailed('a count is not within 0 and 2^32-1');
  return computeBudget(SET_UNIT_LIMIT, BigInt(units), 4);
}

/** Sets the priority fee, in micro-lamports for each compute unit of the limit. */
export function computeUnitPrice(microLamports: bigint): Instruction {
  return computeBudget(SET_UNIT_PRICE, u64(microLamports), 8);
}

function computeBudget(kind: number, value: bigint, bytes: number): Instruction {
  const data = Uint8Array.of(kind, ...littleEndian(value, bytes));
  return { program: COMPUTE_BUDGET_PROGRAM, accounts: [], data };
}

export function memo(text: string): Instruction {
  return { program: MEMO_PROGRAM, accounts: [], data: new TextEncoder().encode(text) };
}

function littleEndian(value: bigint, bytes: number): Uint8Array {
  const buffer = new Uint8Array(8);
  new DataView(buffer.buffer).setBigUint64(0, value, true);
  return buffer.subarray(0, bytes);
}

/** Returns the value if it fits u64: encoders would write 2^64 as 0, and -1 as 2^64-1. */
export function u64(value: bigint): bigint {
  if (value < 0n || value > U64_MAX) throw selfCheckFailed('an amount is not within 0 and 2^64-1');
  return value;
}

export function selfCheckFailed(reason: string): TransactionError {
  return new TransactionError('self_check_failed', `Nothing was signed: ${reason}. Report this.`, {
    details: { reason },
  });
}
