import type { Instruction } from '../../solana/types.js';
import type { SwapCall } from '../provider.js';
import { type SwapExpectation, swapRules, swapSubject } from './instruction-rules.js';
import { enforce, refusal } from './rule.js';

/**
 * Reads the one swap instruction that is taken from a service, and refuses it (`unsafe_swap`)
 * unless it does what was agreed and nothing else. Pure; the state of the chain is judged by the
 * exposure and simulation stages.
 */
export function checkSwap(instruction: Instruction, expected: SwapExpectation): SwapCall {
  const subject = swapSubject(instruction, expected);
  enforce(swapRules(expected.decoders), subject);
  // The rules have refused what could not be read; the type system cannot know.
  if (subject.call === undefined)
    throw refusal({ id: 'swap_program', refuses: 'its instruction could not be read' });
  return subject.call;
}
