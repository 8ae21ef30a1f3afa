import { SYSTEM_PROGRAM } from '../../network.js';
import type { Address, Instruction } from '../../solana/types.js';
import type { SwapExpectation } from './instruction-rules.js';

/** The resolved instructions of a transaction, and the swap among them. */
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

/** An instruction with its place in the transaction. */
export interface Placed {
  readonly instruction: Instruction;
  /** Whether it comes before the swap. */
  readonly before: boolean;
  /** Whether it is the last of the transaction. */
  readonly last: boolean;
}

export function placed({ instructions, swapAt }: SurroundingsSubject): Placed[] {
  return instructions.map((instruction, index) => ({
    instruction,
    before: index < swapAt,
    last: index === instructions.length - 1,
  }));
}

export const TRANSFER_CHECKED = 12;

export const REVOKE = 5;

export const SET_AUTHORITY = 6;

export const CLOSE_AUTHORITY = 3;

export const CLOSE = 9;

export const SYNC = 17;

export const WITHDRAW_EXCESS = 38;

/** Whether an instruction names exactly these accounts, in this order. */
export function names(
  { accounts }: Pick<Instruction, 'accounts'>,
  addresses: readonly (Address | undefined)[],
): boolean {
  return (
    accounts.length === addresses.length &&
    accounts.every(({ address }, index) => address === addresses[index])
  );
}

export function opcode({ instruction }: Pick<Placed, 'instruction'>): number | undefined {
  return instruction.data[0];
}

/**
 * Whether an instruction allocates zero bytes on the wallet. This does nothing to a plain wallet,
 * and fails if the wallet was assigned to another program or given data.
 */
export function keepsPlain({ instruction }: Pick<Placed, 'instruction'>, wallet: Address): boolean {
  const { program, data } = instruction;
  // 4 bytes of operation, 8 of space.
  const isNothing = data.length === 12 && data.every((byte, at) => byte === (at === 0 ? 8 : 0));
  return program === SYSTEM_PROGRAM && isNothing && names(instruction, [wallet]);
}

/**
 * Returns the lamports of a System transfer between two accounts; undefined for any other
 * instruction. Its data are 4 bytes of operation and 8 of amount.
 */
export function transferred(
  { instruction }: Pick<Placed, 'instruction'>,
  from: Address,
  to: Address,
): bigint | undefined {
  const { program, data } = instruction;
  if (program !== SYSTEM_PROGRAM || data.length !== 12 || !names(instruction, [from, to]))
    return undefined;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  return view.getUint32(0, true) === 2 ? view.getBigUint64(4, true) : undefined;
}
