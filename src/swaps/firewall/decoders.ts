import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../network.js';
import {
  ASSOCIATED_TOKEN_PROGRAM,
  COMPUTE_BUDGET_PROGRAM,
  SYSTEM_PROGRAM,
} from '../../solana/programs.js';
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

/** Returns the name of a program that a swap transaction may call; undefined for any other. */
export function programName(decoders: Decoders, program: Address): string | undefined {
  return PROGRAMS.get(program) ?? decoderOf(decoders, program)?.name;
}

export function decoderOf(decoders: Decoders, program: Address): SwapDecoder | undefined {
  return decoders.find(({ programId }) => programId === program);
}

/** Decodes a swap; undefined if its program or any part of the instruction is not understood. */
export function decodeSwap(decoders: Decoders, instruction: Instruction): SwapCall | undefined {
  return decoderOf(decoders, instruction.program)?.decode(instruction);
}

export function temporaryOf(
  decoders: Decoders,
  instruction: Instruction,
  wallet: Address,
): Address | undefined {
  return decoderOf(decoders, instruction.program)?.temporaryOf?.(instruction, wallet);
}

/**
 * Whether an instruction calls a program that swaps. The instruction that makes the wallet's
 * temporary SOL account does not count.
 */
export function isSwap(decoders: Decoders, instruction: Instruction, wallet: Address): boolean {
  return (
    decoderOf(decoders, instruction.program) !== undefined &&
    temporaryOf(decoders, instruction, wallet) === undefined
  );
}

const FAILED = /^Program (\w{32,44}) failed: (?:custom program error: 0x([0-9a-f]{1,8})$)?/;

/**
 * Reads from the logs the name of the error with which a swap program failed. Returns undefined if
 * another program failed first, or the error has no known name.
 */
export function swapErrorName(decoders: Decoders, logs: readonly string[]): string | undefined {
  const failure = logs.map((line) => FAILED.exec(line)).find((match) => match !== null);
  // Only the first failure counts: the innermost program logs it, and its callers repeat the
  // number. A venue's number may mean another error in the swap program.
  const [, program = '', code] = failure ?? [];
  return code === undefined
    ? undefined
    : decoderOf(decoders, program)?.errorName(Number.parseInt(code, 16));
}
