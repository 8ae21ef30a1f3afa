import { TOKEN_PROGRAM, WSOL_MINT } from '../../network.js';
import { JUPITER_EVENT_AUTHORITY, JUPITER_PROGRAM, SYSTEM_PROGRAM } from '../../solana/programs.js';
import { addressBytes } from '../../solana/address.js';
import { programAddress } from '../../solana/tokens/accounts.js';
import type { Address, Instruction } from '../../solana/types.js';
import { namesExactly } from '../firewall/placed-instructions.js';
import type { Rule } from '../firewall/rule.js';
import type { SwapDecoder } from '../provider.js';
import { decodeSwap, hasReadablePlan, isSwapForm } from './layout.js';

const rules: readonly Rule<Instruction>[] = [
  {
    id: 'jupiter_form',
    refuses: 'its instruction is of a form that is not understood',
    why: 'Jupiter has instructions that claim, close or take the input amount from an account that another program writes.',
    passes: ({ data }) => isSwapForm(data),
  },
  {
    id: 'jupiter_plan',
    refuses: 'its route cannot be read to the end, or something follows that does not belong there',
    why: 'The V1 forms keep their amounts behind the route: other amounts at the very end would be read by us and not by the program.',
    passes: ({ data }) => hasReadablePlan(data),
  },
  {
    id: 'jupiter_truncated',
    refuses: 'its instruction lacks accounts or numbers that its form needs',
    why: 'A number that is not there cannot be bounded.',
    passes: (instruction) => decodeSwap(instruction) !== undefined,
  },
  {
    id: 'jupiter_event_authority',
    refuses: "its event authority or program account is not Jupiter's",
    why: 'The accounts stand where another form of the instruction has others: what was read may not be what is meant.',
    passes: (instruction: Instruction): boolean => {
      const call = decodeSwap(instruction);
      return call?.eventAuthority === JUPITER_EVENT_AUTHORITY && call.self === JUPITER_PROGRAM;
    },
  },
];

/** Reads the instructions of Jupiter's aggregator, version 6. */
export const jupiterDecoder: SwapDecoder = {
  id: 'jupiter',
  name: 'Jupiter',
  programId: JUPITER_PROGRAM,
  decode: decodeSwap,
  temporaryOf,
  errorName,
  isPriceMoved,
  rules,
};

/** Anchor's number for `create_token_account`. */
const CREATE = [0x93, 0xf1, 0x7b, 0x64, 0xf4, 0x84, 0xae, 0x76];

/**
 * Returns Jupiter's temporary SOL account, if the instruction makes it for this wallet and names
 * exactly the accounts that recorded instructions name. `/swap` makes it to leave the wallet's own
 * wrapped SOL account alone. In every recorded transaction it is the canonical address of these
 * seeds.
 */
export function temporaryOf(
  { program, accounts, data }: Instruction,
  wallet: Address,
): Address | undefined {
  if (
    program !== JUPITER_PROGRAM ||
    data.length !== CREATE.length + 1 ||
    !CREATE.every((byte, index) => data[index] === byte)
  )
    return undefined;
  const { address, bump } = programAddress(
    [new TextEncoder().encode('token_account'), addressBytes(wallet), addressBytes(WSOL_MINT)],
    JUPITER_PROGRAM,
  );
  const made = [address, wallet, WSOL_MINT, TOKEN_PROGRAM, SYSTEM_PROGRAM];
  return data[CREATE.length] === bump && namesExactly({ accounts }, made) ? address : undefined;
}

/** Names of errors of Jupiter's program that help a caller, by number. */
export const programErrors: ReadonlyMap<number, string> = new Map([
  [6000, 'EmptyRoute'],
  [6001, 'SlippageToleranceExceeded'],
  [6008, 'NotEnoughAccountKeys'],
  [6014, 'IncorrectTokenProgramID'],
  [6016, 'SwapNotSupported'],
  [6017, 'ExactOutAmountNotMatched'],
  [6024, 'InsufficientFunds'],
  [6025, 'InvalidTokenAccount'],
]);

const PRICE_MOVED = /SlippageToleranceExceeded|ExactOutAmountNotMatched|"Custom":(?:6001|6017)\b/;

export function errorName(code: number): string | undefined {
  return programErrors.get(code);
}

export function isPriceMoved(reason: string): boolean {
  return PRICE_MOVED.test(reason);
}
