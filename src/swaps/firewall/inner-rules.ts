import { SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../../network.js';
import type { InnerInstruction } from '../../solana/rpc/rpc.js';
import type { Address } from '../../solana/types.js';
import type { Rule } from './rule.js';

export interface InnerSubject {
  readonly inner: readonly InnerInstruction[] | undefined;
  /** The position of the foreign swap instruction: what other instructions call is ours. */
  readonly swapIndex: number;
  /**
   * The position of the instruction that makes the program's temporary account; -1 if there is
   * none, as in our own transactions.
   */
  readonly madeAt?: number;
  readonly wallet: Address;
  /** The wallet's accounts that the swap takes from and pays into. */
  readonly own: readonly Address[];
}

/** What they take or give shows in the balances, which are judged by themselves. */
export const harmlessCalls: ReadonlySet<string> = new Set([
  'transfer',
  'transferChecked',
  'transferCheckedWithFee',
  // Stake pools and the like take what they buy by burning it.
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

/** What the swap may not do while it runs, whether or not the accounts show it afterwards. */
export const innerRules: readonly Rule<InnerSubject>[] = [
  {
    id: 'inner_shown',
    refuses: 'the RPC node does not show what it calls inside: set an rpcUrl whose simulations do',
    why: 'Tokens move only by calls to a token program, so a swap without any was simulated without what could be wrong with it.',
    passes: (subject) => called(subject).length > 0,
  },
  {
    id: 'inner_system',
    refuses: 'inside, it changes what the wallet is',
    why: 'The wallet has signed, so a program that is called can assign it to another program, give it data or use its nonces, for good.',
    passes: (subject) =>
      called(subject).every(
        (call) => call.program !== SYSTEM_PROGRAM || leavesWallet(call, subject),
      ),
  },
  {
    id: 'inner_token',
    refuses: 'inside, it does more with a token account of the wallet than to transfer',
    why: 'The wallet has signed, so a program that is called can approve a delegate, hand over or close, and undo some of it before the end.',
    passes: (subject) =>
      called(subject).every((call) => !isToken(call) || leavesTokens(call, subject)),
  },
  {
    id: 'inner_temporary',
    refuses: 'what makes its temporary SOL account does more than that',
    why: 'The wallet signs for that instruction too, so a program that it calls could take what the swap itself may not.',
    passes: (subject) =>
      called(subject, subject.madeAt ?? -1).every((call) => makesAccount(call, subject)),
  },
];

function called(
  { inner = [], swapIndex }: InnerSubject,
  at = swapIndex,
): readonly InnerInstruction[] {
  return inner.filter(({ outer }) => outer === at);
}

/**
 * An account is paid for, given its size and its program, and made one of the token program: no
 * call does anything else.
 */
function makesAccount(call: InnerInstruction, subject: InnerSubject): boolean {
  if (call.program === SYSTEM_PROGRAM) return leavesWallet(call, subject);
  return (
    isToken(call) &&
    INITIALIZES.has(call.name ?? '') &&
    call.addresses.some((address) => subject.own.includes(address))
  );
}

const isToken = ({ program }: InnerInstruction): boolean =>
  program === TOKEN_PROGRAM || program === TOKEN_2022_PROGRAM;

/**
 * A wallet that pays for a transfer or for another account's creation is a matter of its lamports.
 */
function leavesWallet(
  { name = '', addresses, creates }: InnerInstruction,
  { wallet }: InnerSubject,
): boolean {
  if (!addresses.includes(wallet) || name === 'transfer') return true;
  return CREATES.has(name) && creates !== undefined && creates !== wallet;
}

function leavesTokens(
  { name = '', addresses }: InnerInstruction,
  { wallet, own }: InnerSubject,
): boolean {
  if (harmlessCalls.has(name)) return true;
  const isOwn = addresses.some((address) => own.includes(address));
  // An account that lived only inside the swap gives its lamports back to the account that paid for
  // it.
  if (name === 'closeAccount') return !isOwn;
  if (addresses.includes(wallet)) return false;
  // Some tokens are minted to their buyer; with the wallet's authority it would be a token of its
  // own.
  return MINTS.has(name) || !isOwn;
}
