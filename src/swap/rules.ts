import { JUPITER_EVENT_AUTHORITY, JUPITER_PROGRAM } from '../network.js';
import { associatedTokenAddress } from '../solana/accounts.js';
import type { Address, Instruction } from '../solana/types.js';
import { type SwapCall, decodeSwap, swapForm } from './layout.js';
import type { Rule } from './rule.js';

/** What a swap has been agreed to do; everything in it is ours, nothing a service's. */
export interface SwapExpectation {
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
}

const MAX_ACCOUNTS = 128;

/** What the rules look at. */
export interface SwapSubject {
  readonly instruction: Instruction;
  readonly call: SwapCall | undefined;
  readonly expected: SwapExpectation;
  /** The wallet's own associated token accounts. */
  readonly source: Address;
  readonly destination: Address;
}

export function swapSubject(instruction: Instruction, expected: SwapExpectation): SwapSubject {
  const { wallet, inputMint, outputMint, inputProgram, outputProgram } = expected;
  return {
    instruction,
    call: decodeSwap(instruction),
    expected,
    source: associatedTokenAddress(wallet, inputMint, inputProgram),
    destination: associatedTokenAddress(wallet, outputMint, outputProgram),
  };
}

/** A rule on what the instruction says: one that cannot be read passes none. */
function onCall(id: string, refuses: string, passes: (call: SwapCall, subject: SwapSubject) => boolean): Rule<SwapSubject> {
  return { id, refuses, passes: (subject) => subject.call !== undefined && passes(subject.call, subject) };
}

/** The static stage: what the one swap instruction may be, in the order in which it is checked. */
export const swapRules: readonly Rule<SwapSubject>[] = [
  {
    id: 'jupiter_program',
    refuses: 'its instruction is not addressed to Jupiter',
    passes: ({ instruction }) => instruction.program === JUPITER_PROGRAM,
  },
  {
    id: 'jupiter_form',
    refuses: 'its instruction is of a form that is not understood',
    passes: ({ instruction }) => swapForm(instruction.data) !== undefined,
  },
  {
    id: 'jupiter_truncated',
    refuses: 'its instruction lacks accounts or numbers that its form needs',
    passes: ({ call }) => call !== undefined,
  },
  {
    id: 'jupiter_accounts',
    refuses: 'its instruction names more accounts than a transaction can lock',
    passes: ({ instruction }) => instruction.accounts.length <= MAX_ACCOUNTS,
  },
  {
    id: 'extra_signer',
    refuses: 'it wants the signature of somebody else than the wallet',
    passes: ({ instruction, expected }) => instruction.accounts.every((account) => !account.signer || account.address === expected.wallet),
  },
  onCall('swap_user', 'it swaps for another wallet', (call, { expected }) => call.user === expected.wallet),
  onCall('swap_source', "it takes from another account than the wallet's own", (call, { source }) => call.source === source),
  onCall(
    'swap_destination',
    "it pays into another account than the wallet's own",
    (call, { destination }) => call.destination === destination,
  ),
  onCall(
    'swap_destination_override',
    'it diverts the output to an extra account',
    (call, { destination }) => call.destinationOverride === undefined || call.destinationOverride === destination,
  ),
  onCall('swap_input_mint', 'it sells another token', (call, { expected }) => call.sourceMint === expected.inputMint),
  onCall('swap_output_mint', 'it buys another token', (call, { expected }) => call.destinationMint === expected.outputMint),
  onCall(
    'swap_input_program',
    'it names another token program for the input',
    (call, { expected }) => call.sourceProgram === expected.inputProgram,
  ),
  onCall(
    'swap_output_program',
    'it names another token program for the output',
    (call, { expected }) => call.destinationProgram === expected.outputProgram,
  ),
  onCall(
    'jupiter_event_authority',
    "its event authority or program account is not Jupiter's",
    (call) => call.eventAuthority === JUPITER_EVENT_AUTHORITY && call.self === JUPITER_PROGRAM,
  ),
  onCall('swap_max_in', 'it may take more than agreed', (call, { expected }) => call.inAmount > 0n && call.maxIn <= expected.maxIn),
  onCall('swap_min_out', 'it may pay out less than agreed', (call, { expected }) => call.minOut >= expected.minOut),
  onCall('swap_slippage', 'it allows itself more slippage than agreed', (call, { expected }) => call.slippageBps <= expected.slippageBps),
  onCall('platform_fee', 'it carries a platform fee', (call) => call.platformFeeBps === 0),
  onCall('positive_slippage', 'it keeps a part of a better price', (call) => call.positiveSlippageBps === 0),
];
