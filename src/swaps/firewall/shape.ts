import { SYSTEM_PROGRAM } from '../../solana/programs.js';
import type { Instruction } from '../../solana/types.js';
import { isSwap } from './decoders.js';
import type { Rule } from './rule.js';
import { type ShapeSubject, temporaryRule } from './temporary.js';

const ADVANCE_NONCE = [4, 0, 0, 0];

function advancesNonce({ program, data }: Instruction): boolean {
  return program === SYSTEM_PROGRAM && ADVANCE_NONCE.every((byte, index) => data[index] === byte);
}

/** Rules on all instructions together, so that the swap can be told from the rest. */
export const shapeRules: readonly Rule<ShapeSubject>[] = [
  {
    id: 'transaction_accounts',
    refuses:
      'it names an account twice, one that it does not have, or a program that it could write to or takes from a lookup table',
    why: 'An account with two places in the list can be read-only in one and writable in the other.',
    passes: ({ instructions }) => instructions !== undefined,
  },
  {
    id: 'durable_nonce',
    refuses: 'the transaction lives on a durable nonce',
    why: 'It would never expire: its holder lands it when the price is good for that holder.',
    passes: ({ instructions }) => instructions?.some(advancesNonce) === false,
  },
  {
    id: 'one_swap',
    refuses:
      'the transaction does not have exactly one instruction of a program that swaps, besides one that makes its temporary SOL account for the wallet',
    why: 'Bounds that hold for one swap say nothing about a second.',
    passes: ({ decoders, instructions, wallet }) =>
      instructions?.filter((instruction) => isSwap(decoders, instruction, wallet)).length === 1,
  },
  temporaryRule,
];
