import { sumAmounts } from '../../amount.js';
import { TOKEN_PROGRAM, TOKEN_PROGRAMS, WSOL_MINT } from '../../network.js';
import { ASSOCIATED_TOKEN_PROGRAM, SYSTEM_PROGRAM } from '../../solana/programs.js';
import type { Address } from '../../solana/types.js';
import { computeBudgetOf, MAX_COMPUTE_UNITS, priorityFeeOf } from './compute-budget.js';
import { decodeSwap, programName } from './decoders.js';
import { claimedBy, guardOf } from './guards-found.js';
import { ownAccount, type SwapExpectation } from './swap-rules.js';
import {
  type SurroundingsSubject,
  type SwapInPlace,
  type Placed,
  placed,
  CLOSE,
  SYNC,
  namesExactly,
  keepsPlain,
  transferred,
} from './placed-instructions.js';
import { feePayerOf, isRelayFee } from './relay.js';
import type { Rule } from './rule.js';

function onEach(
  id: string,
  refuses: string,
  why: string,
  programs: readonly Address[],
  passes: (placed: Placed, subject: SurroundingsSubject) => boolean,
): Rule<SurroundingsSubject> {
  return {
    ...{ id, refuses, why },
    passes: (subject) =>
      placed(subject).every(
        (step) => !programs.includes(step.instruction.program) || passes(step, subject),
      ),
  };
}

/**
 * Rules on every instruction but the swap: its program, operation and accounts must be on the list
 * of what swaps need.
 */
export const surroundingsRules: readonly Rule<SurroundingsSubject>[] = [
  {
    id: 'foreign_program',
    refuses: 'it calls a program that no swap needs',
    why: 'The wallet signs for every instruction: one of a loader, a stake or an unknown program can take what it likes.',
    passes: ({ instructions, expected }) =>
      instructions.every(({ program }) => programName(expected.decoders, program) !== undefined),
  },
  {
    id: 'compute_budget',
    refuses: `its compute budget is not one limit of at most ${MAX_COMPUTE_UNITS} units and one price`,
    why: 'Which of two limits or prices counts is for the network to say, and the fee follows from it.',
    passes: ({ instructions }) => computeBudgetOf(instructions) !== undefined,
  },
  {
    id: 'priority_fee',
    refuses: 'its priority fee is above the limit',
    why: 'The fee goes to the producer of the block, which may be the builder of the swap.',
    passes: ({ instructions, maxPriorityFee }) =>
      (priorityFeeOf(instructions) ?? 0n) <= maxPriorityFee,
  },
  onEach(
    'system_instruction',
    "it moves SOL to somewhere else than the wallet's own wrapped SOL account, or changes an account",
    'One System instruction can send all SOL away, or assign the wallet to a program for good.',
    [SYSTEM_PROGRAM],
    (step, subject) =>
      wrappedBy(step, subject.expected) !== undefined || isOwnFloor(step, subject.expected.wallet),
  ),
  {
    id: 'temporary_funding',
    refuses:
      'its temporary SOL account is there already, has no side in this swap, or gets another amount than its rent and what is sold',
    why: 'What lies there before, or goes there beyond the swap, is in reach of the venue.',
    passes: (subject) => subject.expected.temporary === undefined || isTemporaryFunded(subject),
  },
  {
    id: 'wrap_amount',
    refuses: 'it wraps more SOL than it may sell',
    why: 'What is wrapped beyond the swap is in reach of the venue.',
    passes: (subject) => wrappedIn(subject) <= subject.expected.maxIn,
  },
  onEach(
    'token_account_creation',
    'it creates a token account that is not one of its own for the tokens of this swap',
    'Rent that the wallet pays for accounts of others is gone; recovering nested accounts moves tokens.',
    [ASSOCIATED_TOKEN_PROGRAM],
    (step, { expected }) => createdBy(step, expected) !== undefined,
  ),
  onEach(
    'close_account',
    "it closes another account than the wallet's own wrapped SOL account, or sends its SOL elsewhere",
    'The account that is named as the destination gets the lamports, and all that is wrapped.',
    TOKEN_PROGRAMS,
    (step, { expected }) =>
      step.instruction.data[0] !== CLOSE || closedBy(step, expected) !== undefined,
  ),
  onEach(
    'sync_native',
    "it syncs another account than the wallet's own wrapped SOL account, or after the swap",
    'The accounts that an operation names must be those that its place calls for, or it is not what it seems.',
    TOKEN_PROGRAMS,
    ({ instruction, before }, { expected }) =>
      instruction.data[0] !== SYNC ||
      (before &&
        instruction.program === TOKEN_PROGRAM &&
        instruction.data.length === 1 &&
        namesExactly(instruction, [wrappedAccount(expected)])),
  ),
  onEach(
    'token_instruction',
    'it has an operation on tokens that no swap needs',
    'Approve, SetAuthority, Transfer, Burn and the batches of them give away what the wallet holds, now or later.',
    TOKEN_PROGRAMS,
    (step, { expected }) =>
      step.instruction.data[0] === CLOSE ||
      step.instruction.data[0] === SYNC ||
      isRelayFee(step, expected) ||
      claimedBy(step, expected) !== undefined ||
      guardOf(step, expected) !== undefined,
  ),
];

/** Returns the account that wraps the SOL of a swap. */
export function wrappedAccount(expected: Pick<SwapExpectation, 'wallet' | 'temporary'>): Address {
  return ownAccount(expected, WSOL_MINT, TOKEN_PROGRAM);
}

/**
 * Whether the temporary SOL account is new and funded as in recorded transactions: if the swap
 * sells SOL, with its rent and all that the swap may take. A swap that buys SOL funds nothing.
 */
function isTemporaryFunded(subject: SurroundingsSubject): boolean {
  const { instructions, swapAt, expected, temporary } = subject;
  const swap = instructions[swapAt];
  const call = swap === undefined ? undefined : decodeSwap(expected.decoders, swap);
  if (temporary?.vacant !== true || call === undefined) return false;
  return expected.inputMint === WSOL_MINT
    ? wrappedIn(subject) === call.maxIn
    : expected.outputMint === WSOL_MINT;
}

function wrappedBy(step: Placed, expected: SwapExpectation): bigint | undefined {
  return step.before && expected.inputMint === WSOL_MINT
    ? transferred(step.instruction, expected.wallet, wrappedAccount(expected))
    : undefined;
}

/** Whether an instruction is the end of the guard, which checks the wallet itself. */
function isOwnFloor({ instruction, before, last }: Placed, wallet: Address): boolean {
  return (
    last &&
    !before &&
    (transferred(instruction, wallet, wallet) !== undefined || keepsPlain(instruction, wallet))
  );
}

/**
 * Returns the lamports that are wrapped before the swap. The rent of a temporary SOL account does
 * not count.
 */
export function wrappedIn(subject: Omit<SurroundingsSubject, 'maxPriorityFee'>): bigint {
  const { expected, temporary } = subject;
  const sent = sumAmounts(placed(subject).map((step) => wrappedBy(step, expected) ?? 0n));
  return expected.inputMint === WSOL_MINT ? sent - (temporary?.rent ?? 0n) : sent;
}

/** Returns the wallet's account that an instruction of the associated token program creates. */
function createdBy(
  { instruction, before }: Placed,
  expected: SwapExpectation,
): Address | undefined {
  const { wallet, inputMint, inputProgram, outputMint, outputProgram } = expected;
  const { accounts, data } = instruction;
  const isCreate = data.length === 0 || (data.length === 1 && (data[0] === 0 || data[0] === 1));
  const mints: ReadonlyMap<Address, Address> = new Map([
    [WSOL_MINT, TOKEN_PROGRAM],
    [inputMint, inputProgram],
    [outputMint, outputProgram],
  ]);
  const mint = accounts[3]?.address;
  const program = mint === undefined ? undefined : mints.get(mint);
  if (!before || !isCreate || mint === undefined || program === undefined) return undefined;
  const account = ownAccount(expected, mint, program);
  // Older builders name the rent sysvar as a seventh account; no program reads it.
  const firstSix = { ...instruction, accounts: accounts.slice(0, 6) };
  return accounts.length <= 7 &&
    namesExactly(firstSix, [feePayerOf(expected), account, wallet, mint, SYSTEM_PROGRAM, program])
    ? account
    : undefined;
}

export function createdIn(subject: SwapInPlace): Address[] {
  return placed(subject)
    .filter(({ instruction }) => instruction.program === ASSOCIATED_TOKEN_PROGRAM)
    .map((step) => createdBy(step, subject.expected))
    .filter((account) => account !== undefined);
}

/** Returns the wallet's wrapped SOL account, if an instruction closes it into the wallet. */
function closedBy({ instruction, before }: Placed, expected: SwapExpectation): Address | undefined {
  const { wallet } = expected;
  const account = wrappedAccount(expected);
  const { program, data } = instruction;
  const isClose = program === TOKEN_PROGRAM && data.length === 1 && data[0] === CLOSE;
  return isClose && !before && namesExactly(instruction, [account, wallet, wallet])
    ? account
    : undefined;
}

export function closesWrapped(subject: SwapInPlace): boolean {
  return placed(subject).some((step) => closedBy(step, subject.expected) !== undefined);
}
