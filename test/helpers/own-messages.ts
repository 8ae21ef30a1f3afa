import { address, isSignerRole, type Address } from '@solana/kit';
import type { MintSymbol, Sandbox } from 'exact-change-sandbox';
import { expect } from 'vitest';
import { associatedToken, PROGRAMS } from '../corpus/addresses.js';
import type { FilledInstruction } from '../corpus/instructions.js';
import { readMessage, type Parts } from './foreign-transaction.js';
import type { Payer } from './payer.js';

/** Addresses of a wallet's associated token accounts; an account may be missing. */
export type OwnAccounts = Readonly<Record<MintSymbol, Address>>;

export async function ownAccounts(sandbox: Sandbox, wallet: string): Promise<OwnAccounts> {
  const at = ({ address: mint, tokenProgram }: { address: Address; tokenProgram: Address }) =>
    associatedToken(address(wallet), mint, tokenProgram);
  const { SOL, USDC, USDT, PYUSD, BONK } = sandbox.mints;
  return {
    SOL: await at(SOL),
    USDC: await at(USDC),
    USDT: await at(USDT),
    PYUSD: await at(PYUSD),
    BONK: await at(BONK),
  };
}

/** The payment that the caller agreed to; the amount is in base units. */
export interface Agreed {
  readonly symbol: MintSymbol;
  readonly amount: bigint;
  readonly payTo: string;
}

const TOKEN_PROGRAMS: readonly Address[] = [PROGRAMS.token, PROGRAMS.token2022];
const COMPUTE: readonly Address[] = [PROGRAMS.computeBudget];
/** TransferChecked, SetAuthority, Revoke, CloseAccount, SyncNative. */
const OP = { transferChecked: 12, setAuthority: 6, revoke: 5, close: 9, sync: 17 } as const;

const addressesOf = ({ accounts }: FilledInstruction): Address[] =>
  accounts.map((account) => account.address);
const u64At = (data: Uint8Array, offset: number): bigint =>
  new DataView(data.buffer, data.byteOffset).getBigUint64(offset, true);

/**
 * Checks that each message that a wallet signed is a swap composed by its client, or the agreed
 * payment.
 */
export async function expectOwnMessages(
  sandbox: Sandbox,
  payer: Pick<Payer, 'address' | 'signed' | 'messages'>,
  agreed: Agreed,
): Promise<void> {
  const wallet = address(payer.address);
  const own = await ownAccounts(sandbox, wallet);
  const theirs = await ownAccounts(sandbox, agreed.payTo);
  expect(payer.messages.length).toBe(payer.signed.length);
  payer.messages.forEach((bytes, index) => {
    const message = readMessage(sandbox, bytes);
    if (payer.signed[index]?.kind === 'swap') expectSwap(message, message.header, wallet, own);
    else
      expectPayment(
        sandbox,
        message,
        message.header,
        wallet,
        own[agreed.symbol],
        theirs[agreed.symbol],
        agreed,
      );
  });
}

type Header = ReturnType<typeof readMessage>['header'];

function expectSwap(
  { feePayer, instructions }: Parts,
  header: Header,
  wallet: Address,
  own: OwnAccounts,
): void {
  expect(feePayer).toBe(wallet);
  expect(header).toMatchObject({ numSignerAccounts: 1, numReadonlySignerAccounts: 0 });
  expect(
    instructions.filter(({ programAddress }) => programAddress === PROGRAMS.jupiter).length,
  ).toBe(1);
  for (const instruction of instructions) expectOwnStep(instruction, wallet, own);
  // The guard ends with a transfer from the wallet to itself. It fails if the wallet has less
  // lamports, or is no system account any more.
  const guard = instructions[instructions.length - 1];
  expect(guard?.programAddress).toBe(PROGRAMS.system);
  expect(guard === undefined ? [] : addressesOf(guard)).toEqual([wallet, wallet]);
  expect(guard === undefined ? 0n : u64At(guard.data, 4)).toBeGreaterThan(0n);
}

function expectOwnStep(step: FilledInstruction, wallet: Address, own: OwnAccounts): void {
  const { programAddress: program, data } = step;
  const accounts = addressesOf(step);
  const ownAddresses = Object.values(own);
  if (program === PROGRAMS.system) {
    expect([...data.subarray(0, 4)]).toEqual([2, 0, 0, 0]);
    expect(accounts[0]).toBe(wallet);
    expect([wallet, own.SOL]).toContain(accounts[1]);
    expect(accounts.length).toBe(2);
  } else if (TOKEN_PROGRAMS.includes(program)) expectOwnTokenStep(data, accounts, wallet, own);
  else if (program === PROGRAMS.associatedToken) {
    expect([...data]).toEqual([1]);
    expect([accounts[0], accounts[2]]).toEqual([wallet, wallet]);
    expect(ownAddresses).toContain(accounts[1]);
  } else if (program === PROGRAMS.jupiter) {
    expect(accounts[0]).toBe(wallet);
    expect(ownAddresses).toContain(accounts[1]);
    expect(ownAddresses).toContain(accounts[2]);
    expect(
      step.accounts
        .filter(({ role }) => isSignerRole(role))
        .every((account) => account.address === wallet),
    ).toBe(true);
  } else expect(COMPUTE).toContain(program);
}

function expectOwnTokenStep(
  data: Uint8Array,
  accounts: readonly Address[],
  wallet: Address,
  own: OwnAccounts,
): void {
  const [account] = accounts;
  expect(Object.values(own)).toContain(account);
  switch (data[0]) {
    case OP.transferChecked:
      // The guard checks a balance by a transfer from the account to itself.
      expect([accounts[2], accounts[3], accounts.length]).toEqual([account, wallet, 4]);
      return;
    case OP.setAuthority:
      // The authority to close the account is set to none.
      expect([...data]).toEqual([6, 3, 0]);
      return;
    case OP.close:
      expect(accounts).toEqual([own.SOL, wallet, wallet]);
      return;
    default:
      expect([OP.revoke, OP.sync]).toContain(data[0]);
  }
}

function expectPayment(
  sandbox: Sandbox,
  { feePayer, instructions }: Parts,
  header: Header,
  wallet: Address,
  source: Address,
  destination: Address,
  { symbol, amount }: Agreed,
): void {
  const { address: mint, decimals, tokenProgram } = sandbox.mints[symbol];
  expect(feePayer).toBe(sandbox.feePayer);
  expect(header.numSignerAccounts).toBe(2);
  const others = instructions.filter(({ programAddress }) => programAddress !== tokenProgram);
  for (const other of others) {
    expect([...COMPUTE, PROGRAMS.memo]).toContain(other.programAddress);
    expect(addressesOf(other)).toEqual([]);
  }
  const transfers = instructions.filter(({ programAddress }) => programAddress === tokenProgram);
  expect(transfers.map(addressesOf)).toEqual([[source, mint, destination, wallet]]);
  const [transfer] = transfers;
  const data = transfer?.data ?? new Uint8Array(10);
  expect([data[0], u64At(data, 1), data[9], data.length]).toEqual([
    OP.transferChecked,
    amount,
    decimals,
    10,
  ]);
}
