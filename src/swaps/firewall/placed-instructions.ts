import { viewOf } from '../../internal/bytes.js';
import { SYSTEM_PROGRAM } from '../../solana/programs.js';
import type { Address, Instruction } from '../../solana/types.js';
import type { SwapExpectation } from './swap-rules.js';

export interface SwapInPlace {
  readonly instructions: readonly Instruction[];
  /** Position of the one instruction that swaps. */
  readonly swapAt: number;
  readonly expected: SwapExpectation;
}

/** The instructions of a transaction that is judged as it is, with the swap among them. */
export interface SurroundingsSubject extends SwapInPlace {
  /** Lamports. */
  readonly maxPriorityFee: bigint;
  /** State on chain of the temporary SOL account, if the transaction makes one. */
  readonly temporary?: { readonly rent: bigint; readonly vacant: boolean } | undefined;
}

export interface Placed {
  readonly instruction: Instruction;
  readonly before: boolean;
  readonly last: boolean;
}

export function placed({ instructions, swapAt }: Omit<SwapInPlace, 'expected'>): Placed[] {
  return instructions.map((instruction, index) => ({
    instruction,
    before: index < swapAt,
    last: index === instructions.length - 1,
  }));
}

const TRANSFER_CHECKED = 12;

export const REVOKE = 5;

export const SET_AUTHORITY = 6;

export const CLOSE_AUTHORITY = 3;

export const CLOSE = 9;

export const SYNC = 17;

export const WITHDRAW_EXCESS = 38;

/** Whether an instruction names exactly these accounts, in this order. */
export function namesExactly(
  { accounts }: Pick<Instruction, 'accounts'>,
  addresses: readonly (Address | undefined)[],
): boolean {
  return (
    accounts.length === addresses.length &&
    accounts.every(({ address }, index) => address === addresses[index])
  );
}

/**
 * Whether an instruction allocates zero bytes on the wallet. This does nothing to a plain wallet,
 * and fails if the wallet was assigned to another program or given data.
 */
export function keepsPlain(instruction: Instruction, wallet: Address): boolean {
  const { program, data } = instruction;
  // 4 bytes of operation, 8 of space.
  const isNothing = data.length === 12 && data.every((byte, at) => byte === (at === 0 ? 8 : 0));
  return program === SYSTEM_PROGRAM && isNothing && namesExactly(instruction, [wallet]);
}

/**
 * Returns the lamports of a System transfer between two accounts; undefined for any other
 * instruction. Its data are 4 bytes of operation and 8 of amount.
 */
export function transferred(
  instruction: Instruction,
  from: Address,
  to: Address,
): bigint | undefined {
  const { program, data } = instruction;
  if (program !== SYSTEM_PROGRAM || data.length !== 12 || !namesExactly(instruction, [from, to]))
    return undefined;
  const view = viewOf(data);
  return view.getUint32(0, true) === 2 ? view.getBigUint64(4, true) : undefined;
}

/** Returns the base units of a `TransferChecked` with exactly these accounts; else undefined. */
export function transferredChecked(
  instruction: Instruction,
  addresses: readonly Address[],
): bigint | undefined {
  const { data } = instruction;
  return data[0] === TRANSFER_CHECKED && data.length === 10 && namesExactly(instruction, addresses)
    ? viewOf(data).getBigUint64(1, true)
    : undefined;
}
