import {
  ASSOCIATED_TOKEN_PROGRAM,
  COMPUTE_BUDGET_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_2022_PROGRAM,
  TOKEN_PROGRAM,
} from '../../network.js';
import type { Address, Instruction } from '../../solana/types.js';
import type { SwapCall, SwapDecoder } from '../provider.js';

type Decoders = readonly SwapDecoder[];

const PROGRAMS: ReadonlyMap<Address, string> = new Map([
  [COMPUTE_BUDGET_PROGRAM, 'Compute Budget'],
  [SYSTEM_PROGRAM, 'System'],
  [ASSOCIATED_TOKEN_PROGRAM, 'Associated Token'],
  [TOKEN_PROGRAM, 'Token'],
  [TOKEN_2022_PROGRAM, 'Token-2022'],
]);

/** The name of a program that a transaction around a swap calls; undefined for any other. */
export function programName(decoders: Decoders, program: Address): string | undefined {
  return PROGRAMS.get(program) ?? decoderOf(decoders, program)?.name;
}

/** What reads the instructions of a program. */
export function decoderOf(decoders: Decoders, program: Address): SwapDecoder | undefined {
  return decoders.find(({ programId }) => programId === program);
}

/** Undefined if its program is not known, or anything of it is not understood. */
export function decodeSwap(decoders: Decoders, instruction: Instruction): SwapCall | undefined {
  return decoderOf(decoders, instruction.program)?.decode(instruction);
}

/** The account for the SOL of one swap that an instruction makes for this wallet. */
export function temporaryOf(
  decoders: Decoders,
  instruction: Instruction,
  wallet: Address,
): Address | undefined {
  return decoderOf(decoders, instruction.program)?.temporaryOf?.(instruction, wallet);
}

/**
 * Whether an instruction is of a program that swaps, and not the one that makes its temporary
 * account for this wallet.
 */
export function isSwap(decoders: Decoders, instruction: Instruction, wallet: Address): boolean {
  return (
    decoderOf(decoders, instruction.program) !== undefined &&
    temporaryOf(decoders, instruction, wallet) === undefined
  );
}

const FAILED = /^Program (\w{32,44}) failed: (?:custom program error: 0x([0-9a-f]{1,8})$)?/;

/**
 * The name of the error with which a program that swaps failed, read from the logs; undefined if
 * none did, or not with a known one.
 */
export function swapErrorName(decoders: Decoders, logs: readonly string[]): string | undefined {
  const failure = logs.map((line) => FAILED.exec(line)).find((found) => found !== null);
  // The innermost program fails first and its callers repeat its number: a venue may use it for
  // something else.
  const [, program = '', code] = failure ?? [];
  return code === undefined
    ? undefined
    : decoderOf(decoders, program)?.errorName(Number.parseInt(code, 16));
}
