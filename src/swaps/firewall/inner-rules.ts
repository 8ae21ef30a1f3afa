import { isTokenProgram } from '../../network.js';
import { SYSTEM_PROGRAM } from '../../solana/programs.js';
import type { InnerInstruction } from '../../solana/rpc/rpc.js';
import type { Address } from '../../solana/types.js';
import type { Rule } from './rule.js';

export interface InnerSubject {
  readonly inner: readonly InnerInstruction[] | undefined;
  /** Position of the swap. Only the swap and the instruction at `madeAt` call foreign code. */
  readonly swapIndex: number;
  /**
   * Position of the instruction that makes the temporary SOL account; -1 if there is none, as in
   * our own transactions.
   */
  readonly madeAt?: number;
  readonly wallet: Address;
  readonly own: readonly Address[];
}

/** Token calls that change nothing but balances, which the simulation rules judge. */
export const harmlessCalls: ReadonlySet<string> = new Set([
  'transfer',
  'transferChecked',
  'transferCheckedWithFee',
  // Stake pools burn the tokens that they buy.
  'burn',
  'burnChecked',
  'syncNative',
  'getAccountDataSize',
  'amountToUiAmount',
  'uiAmountToAmount',
]);
const INITIALIZES: ReadonlySet<string> = new Set([
  'initializeAccount',
  'initializeAccount2',
  'initializeAccount3',
]);
const MINTS: ReadonlySet<string> = new Set(['mintTo', 'mintToChecked']);
const CREATES: ReadonlySet<string> = new Set([
  'createAccount',
  'createAccountWithSeed',
  'createAccountAllowPrefund',
]);

/** Rules on calls of the swap while it runs: the accounts may not show the calls afterwards. */
export const innerRules: readonly Rule<InnerSubject>[] = [
  {
    id: 'inner_shown',
    refuses: 'the RPC node does not show what it calls inside: set an rpcUrl whose simulations do',
    why: 'Tokens move only by calls to a token program, so a swap without any was simulated without what could be wrong with it.',
    passes: (subject) => callsOf(subject).length > 0,
  },
  {
    id: 'inner_system',
    refuses: 'inside, it changes what the wallet is',
    why: 'The wallet has signed, so a program that is called can assign it to another program, give it data or use its nonces, for good.',
    passes: (subject) =>
      callsOf(subject).every(
        (call) => call.program !== SYSTEM_PROGRAM || leavesWallet(call, subject),
      ),
  },
  {
    id: 'inner_token',
    refuses: 'inside, it does more with a token account of the wallet than to transfer',
    why: 'The wallet has signed, so a program that is called can approve a delegate, hand over or close, and undo some of it before the end.',
    passes: (subject) =>
      callsOf(subject).every(
        (call) => !isTokenProgram(call.program) || leavesTokens(call, subject),
      ),
  },
  {
    id: 'inner_temporary',
    refuses: 'what makes its temporary SOL account does more than that',
    why: 'The wallet signs for that instruction too, so a program that it calls could take what the swap itself may not.',
    passes: (subject) =>
      callsOf(subject, subject.madeAt ?? -1).every((call) => makesAccount(call, subject)),
  },
];

function callsOf(
  { inner = [], swapIndex }: InnerSubject,
  at = swapIndex,
): readonly InnerInstruction[] {
  return inner.filter(({ outer }) => outer === at);
}

/**
 * Whether a call is a step of making a token account: paying for it, setting its size and program,
 * or initializing it.
 */
function makesAccount(call: InnerInstruction, subject: InnerSubject): boolean {
  if (call.program === SYSTEM_PROGRAM) return leavesWallet(call, subject);
  return (
    isTokenProgram(call.program) &&
    INITIALIZES.has(call.name ?? '') &&
    call.addresses.some((address) => subject.own.includes(address))
  );
}

/**
 * Whether a System call leaves the wallet a plain wallet. It may pay for a transfer or for another
 * account's creation: the simulation rules judge its lamports.
 */
function leavesWallet(
  { name = '', addresses, creates }: InnerInstruction,
  { wallet }: InnerSubject,
): boolean {
  if (!addresses.includes(wallet) || name === 'transfer') return true;
  return CREATES.has(name) && creates !== undefined && creates !== wallet;
}

/** Whether a token call leaves the control of the wallet's accounts unchanged. */
function leavesTokens(
  { name = '', addresses }: InnerInstruction,
  { wallet, own }: InnerSubject,
): boolean {
  if (harmlessCalls.has(name)) return true;
  const isOwn = addresses.some((address) => own.includes(address));
  // A swap may close an account that it made itself, which returns the rent to its payer.
  if (name === 'closeAccount') return !isOwn;
  if (addresses.includes(wallet)) return false;
  // Some tokens are minted to their buyer. A mint by the wallet's authority is refused above.
  return MINTS.has(name) || !isOwn;
}
