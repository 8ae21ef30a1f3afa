import { JUPITER_PROGRAM, SYSTEM_PROGRAM, TOKEN_PROGRAM, WSOL_MINT } from '../../network.js';
import { addressBytes } from '../../solana/address.js';
import { programAddress } from '../../solana/tokens/accounts.js';
import type { Address, Instruction } from '../../solana/types.js';
import type { Rule } from './rule.js';

/** Anchor's number for `create_token_account`. */
const CREATE = [0x93, 0xf1, 0x7b, 0x64, 0xf4, 0x84, 0xae, 0x76];
const CLOSE_ACCOUNT = 9;

/**
 * Jupiter's account for the SOL of one swap: `/swap` makes it if a wallet's own wrapped SOL
 * account is to be left alone. In every recorded transaction it is the first address of these
 * seeds.
 */
function temporaryOf(wallet: Address): { readonly address: Address; readonly bump: number } {
  return programAddress(
    [new TextEncoder().encode('token_account'), addressBytes(wallet), addressBytes(WSOL_MINT)],
    JUPITER_PROGRAM,
  );
}

/**
 * Whether an instruction makes that account, for this wallet, with exactly what the recorded ones
 * name.
 */
export function createsTemporary(
  { program, accounts, data }: Instruction,
  wallet: Address,
): boolean {
  if (
    program !== JUPITER_PROGRAM ||
    data.length !== CREATE.length + 1 ||
    !CREATE.every((byte, index) => data[index] === byte)
  )
    return false;
  const { address, bump } = temporaryOf(wallet);
  return (
    data[CREATE.length] === bump &&
    names({ accounts }, [address, wallet, WSOL_MINT, TOKEN_PROGRAM, SYSTEM_PROGRAM])
  );
}

/** The temporary account that a transaction makes; undefined if it makes none. */
export function temporaryIn(
  instructions: readonly Instruction[],
  wallet: Address,
): Address | undefined {
  return instructions.find((instruction) => createsTemporary(instruction, wallet))?.accounts[0]
    ?.address;
}

export interface TemporarySubject {
  readonly instructions: readonly Instruction[] | undefined;
  readonly wallet: Address;
}

export const temporaryRule: Rule<TemporarySubject> = {
  id: 'temporary_account',
  refuses:
    'its temporary SOL account is not funded, made, swapped with and closed into the wallet, once and in this order',
  why: 'What is left in an account that Jupiter made stays there: nothing else knows of it, and a second use of it is not what was recorded.',
  passes: ({ instructions = [], wallet }) => {
    const account = temporaryIn(instructions, wallet);
    return account === undefined || isUsedOnce(instructions, account, wallet);
  },
};

/**
 * Nothing names the account but, in this order: at most one transfer, the instruction that makes
 * it, the swap, and the close.
 */
function isUsedOnce(
  instructions: readonly Instruction[],
  account: Address,
  wallet: Address,
): boolean {
  const users = instructions.filter(({ accounts }) =>
    accounts.some(({ address }) => address === account),
  );
  const [made, swap, close, ...others] =
    users[0]?.program === SYSTEM_PROGRAM ? users.slice(1) : users;
  if (made === undefined || swap === undefined || close === undefined || others.length > 0)
    return false;
  const isClose =
    close.program === TOKEN_PROGRAM && close.data.length === 1 && close.data[0] === CLOSE_ACCOUNT;
  const isSwap = swap.program === JUPITER_PROGRAM && !createsTemporary(swap, wallet);
  return (
    createsTemporary(made, wallet) && isSwap && isClose && names(close, [account, wallet, wallet])
  );
}

/** Whether an instruction names exactly these accounts, in this order. */
export function names(
  { accounts }: Pick<Instruction, 'accounts'>,
  addresses: readonly (Address | undefined)[],
): boolean {
  return (
    accounts.length === addresses.length &&
    accounts.every(({ address }, index) => address === addresses[index])
  );
}
