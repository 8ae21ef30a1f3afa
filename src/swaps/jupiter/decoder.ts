import { JUPITER_EVENT_AUTHORITY, JUPITER_PROGRAM } from '../../network.js';
import type { Instruction } from '../../solana/types.js';
import type { Rule } from '../firewall/rule.js';
import type { SwapDecoder } from '../provider.js';
import { decodeSwap, hasReadablePlan, isSwapForm } from './layout.js';
import { errorName, isPriceMoved } from './program-errors.js';
import { temporaryOf } from './temporary.js';

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
