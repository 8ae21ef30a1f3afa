import { TOKEN_PROGRAM } from '../../network.js';
import { SYSTEM_PROGRAM } from '../../solana/programs.js';
import type { Address, Instruction } from '../../solana/types.js';
import type { SwapDecoder } from '../provider.js';
import { isSwap, temporaryOf } from './decoders.js';
import { CLOSE, namesExactly } from './placed-instructions.js';
import type { Rule } from './rule.js';

/** Returns the temporary SOL account that a transaction makes; undefined if it makes none. */
export function temporaryIn(
  decoders: readonly SwapDecoder[],
  instructions: readonly Instruction[],
  wallet: Address,
): Address | undefined {
  for (const instruction of instructions) {
    const account = temporaryOf(decoders, instruction, wallet);
    if (account !== undefined) return account;
  }
  return undefined;
}

/** A foreign transaction with resolved accounts. */
export interface ShapeSubject {
  readonly decoders: readonly SwapDecoder[];
  /** Undefined if the accounts cannot be resolved: see `resolveInstructions`. */
  readonly instructions: readonly Instruction[] | undefined;
  readonly wallet: Address;
}

export const temporaryRule: Rule<ShapeSubject> = {
  id: 'temporary_account',
  refuses:
    'its temporary SOL account is not funded, made, swapped with and closed into the wallet, once and in this order',
  why: 'What is left in an account that a swap made stays there: nothing else knows of it, and a second use of it is not what was recorded.',
  passes: ({ decoders, instructions = [], wallet }) => {
    const account = temporaryIn(decoders, instructions, wallet);
    return account === undefined || isUsedOnce(decoders, instructions, account, wallet);
  },
};

/**
 * Whether only these instructions name the account, in this order: at most one transfer, the
 * instruction that makes the account, the swap, and the close.
 */
function isUsedOnce(
  decoders: readonly SwapDecoder[],
  instructions: readonly Instruction[],
  account: Address,
  wallet: Address,
): boolean {
  const users = instructions.filter(({ accounts }) =>
    accounts.some(({ address }) => address === account),
  );
  const [making, swap, close, ...moreUsers] =
    users[0]?.program === SYSTEM_PROGRAM ? users.slice(1) : users;
  if (making === undefined || swap === undefined || close === undefined || moreUsers.length > 0)
    return false;
  const isClose =
    close.program === TOKEN_PROGRAM && close.data.length === 1 && close.data[0] === CLOSE;
  return (
    temporaryOf(decoders, making, wallet) === account &&
    isSwap(decoders, swap, wallet) &&
    isClose &&
    namesExactly(close, [account, wallet, wallet])
  );
}
