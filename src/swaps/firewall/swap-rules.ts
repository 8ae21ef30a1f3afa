import { isTokenProgram, WSOL_MINT } from '../../network.js';
import { associatedTokenAddress } from '../../solana/tokens/accounts.js';
import type { Address, Instruction } from '../../solana/types.js';
import type { SwapCall, SwapDecoder } from '../provider.js';
import { decoderOf, decodeSwap, programName } from './decoders.js';
import { enforce, refusal, type Rule, rulesOn } from './rule.js';

/**
 * A relayer that pays the lamports of a swap, for a fee in one of the two tokens. With a relayer,
 * no lamport of the wallet may move.
 */
export interface Relay {
  /** Signs first; pays the network fee, and the rent of new accounts. */
  readonly feePayer: Address;
  /** Owner of the associated token account that the fee goes to. */
  readonly payTo: Address;
  readonly mint: Address;
  /** The fee in base units. */
  readonly amount: bigint;
}

/** The agreed bounds and accounts of a swap. No value in it comes from a service. */
export interface SwapExpectation {
  /** Decoders of all programs that may swap. */
  readonly decoders: readonly SwapDecoder[];
  readonly wallet: Address;
  readonly inputMint: Address;
  readonly outputMint: Address;
  /** Token program of the input mint: the mint's owner on chain. */
  readonly inputProgram: Address;
  readonly outputProgram: Address;
  /** Base units: the most that may leave. */
  readonly maxIn: bigint;
  /** Base units: the least that must arrive. */
  readonly minOut: bigint;
  /** The most slippage, in basis points, that the instruction may allow itself. */
  readonly slippageBps: number;
  /**
   * The temporary SOL account, if the transaction makes one: it replaces the wallet's wrapped SOL
   * account.
   */
  readonly temporary?: Address | undefined;
  readonly relay?: Relay | undefined;
}

export function ownAccount(
  { wallet, temporary }: Pick<SwapExpectation, 'wallet' | 'temporary'>,
  mint: Address,
  program: Address,
): Address {
  return mint === WSOL_MINT && temporary !== undefined
    ? temporary
    : associatedTokenAddress(wallet, mint, program);
}

const MAX_ACCOUNTS = 128;

/** A swap instruction, as the rules judge it. */
export interface SwapSubject {
  readonly instruction: Instruction;
  readonly call: SwapCall | undefined;
  readonly expected: SwapExpectation;
  /** The wallet's own account for the input, as `destination` is for the output. */
  readonly source: Address;
  readonly destination: Address;
}

export function swapSubject(instruction: Instruction, expected: SwapExpectation): SwapSubject {
  const { inputMint, outputMint, inputProgram, outputProgram } = expected;
  return {
    instruction,
    call: decodeSwap(expected.decoders, instruction),
    expected,
    source: ownAccount(expected, inputMint, inputProgram),
    destination: ownAccount(expected, outputMint, outputProgram),
  };
}

const onCall = rulesOn(({ call }: SwapSubject) => call);

/**
 * Returns the rules on the swap instruction in the order of their checks: rules for any
 * instruction, rules of each program, and rules on the decoded swap.
 */
export function swapRules(decoders: readonly SwapDecoder[]): readonly Rule<SwapSubject>[] {
  const programRules = decoders.flatMap(({ programId, rules }) =>
    rules.map((rule): Rule<SwapSubject> => ({
      ...rule,
      passes: ({ instruction }) => instruction.program !== programId || rule.passes(instruction),
    })),
  );
  return [...instructionRules, ...programRules, ...callRules];
}

const instructionRules: readonly Rule<SwapSubject>[] = [
  {
    id: 'swap_program',
    refuses: 'its instruction is not addressed to a program whose swaps are understood',
    why: 'Any other program would get the signature of the wallet and do with it what it likes.',
    passes: ({ instruction, expected }) =>
      decoderOf(expected.decoders, instruction.program) !== undefined,
  },
  {
    id: 'swap_accounts',
    refuses: 'its instruction names more accounts than a transaction can lock',
    why: 'It could never land, and reading them all costs the node.',
    passes: ({ instruction }) => instruction.accounts.length <= MAX_ACCOUNTS,
  },
  {
    id: 'extra_signer',
    refuses: 'it wants the signature of another key than the wallet',
    why: 'A second signer can hold the transaction back until the price suits that signer.',
    passes: ({ instruction, expected }) =>
      instruction.accounts.every(
        (account) => !account.signer || account.address === expected.wallet,
      ),
  },
  {
    id: 'swap_programs',
    refuses: 'it would write to a program that a swap calls',
    why: 'No swap does; composed with our own instructions it would give a transaction that cannot be read back.',
    passes: ({ instruction, expected }) =>
      instruction.accounts.every(
        ({ address, writable }) =>
          !writable || programName(expected.decoders, address) === undefined,
      ),
  },
];

const callRules: readonly Rule<SwapSubject>[] = [
  onCall(
    'swap_user',
    'it swaps for another wallet',
    'The wallet would pay fees for a swap that is not its own.',
    (call, { expected }) => call.user === expected.wallet,
  ),
  onCall(
    'swap_source',
    "it takes from another account than the wallet's own",
    'Another token account of the wallet, such as one that was never meant to be spent, could be the source.',
    (call, { source }) => call.source === source,
  ),
  onCall(
    'swap_destination',
    "it pays into another account than the wallet's own",
    'The output would belong to another owner.',
    (call, { destination }) => call.destination === destination,
  ),
  onCall(
    'swap_destination_override',
    'it diverts the output to an extra account',
    'An optional account of the form takes the output in place of the one that was checked.',
    (call, { destination }) =>
      call.destinationOverride === undefined || call.destinationOverride === destination,
  ),
  onCall(
    'swap_input_mint',
    'it sells another token',
    'Amounts were agreed for one token; the same number of another may be worth a thousand times as much.',
    (call, { expected }) => call.sourceMint === undefined || call.sourceMint === expected.inputMint,
  ),
  onCall(
    'swap_output_mint',
    'it buys another token',
    'A token with the same symbol and decimals can be worth nothing.',
    (call, { expected }) => call.destinationMint === expected.outputMint,
  ),
  onCall(
    'swap_input_program',
    'it names another token program for the input',
    'The program that is named is the one that is called, with the signature of the wallet.',
    (call, { expected }) =>
      call.sourceProgram === undefined
        ? call.eitherProgram.every(isTokenProgram)
        : call.sourceProgram === expected.inputProgram,
  ),
  onCall(
    'swap_output_program',
    'it names another token program for the output',
    'The program that is named is the one that is called, with the signature of the wallet.',
    (call, { expected }) =>
      call.destinationProgram === undefined || call.destinationProgram === expected.outputProgram,
  ),
  onCall(
    'fee_account',
    'it names an account that takes a platform fee',
    'The owner of that account takes a part of what is swapped.',
    (call) => call.feeAccount === undefined,
  ),
  onCall(
    'swap_max_in',
    'it may take more than agreed',
    'A service that quotes 1 and builds 1,000 would sell the whole balance.',
    (call, { expected }) => call.inAmount > 0n && call.maxIn <= expected.maxIn,
  ),
  onCall(
    'swap_min_out',
    'it may pay out less than agreed',
    'A least output of zero lets each observer of the swap take its worth.',
    (call, { expected }) => call.minOut >= expected.minOut,
  ),
  onCall(
    'swap_slippage',
    'it allows itself more slippage than agreed',
    'What it may slip is what the producer of the block can take.',
    (call, { expected }) => call.slippageBps <= expected.slippageBps,
  ),
  onCall(
    'platform_fee',
    'it carries a platform fee',
    'A fee that the caller did not agree to goes to the builder of the swap.',
    (call) => call.platformFeeBps === 0,
  ),
  onCall(
    'positive_slippage',
    'it keeps a part of a better price',
    'What the market gives beyond the quote belongs to the wallet.',
    (call) => call.positiveSlippageBps === 0,
  ),
];

/**
 * Decodes the swap instruction of a service. Throws `unsafe_swap` unless it does what was agreed and
 * nothing else. Pure: the exposure and simulation stages judge the state of the chain.
 */
export function checkSwap(instruction: Instruction, expected: SwapExpectation): SwapCall {
  const subject = swapSubject(instruction, expected);
  enforce(swapRules(expected.decoders), subject);
  // The rules have refused an instruction that cannot be decoded, but the type system cannot know.
  if (subject.call === undefined)
    throw refusal({ id: 'swap_program', refuses: 'its instruction could not be read' });
  return subject.call;
}
