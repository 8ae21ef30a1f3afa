import { AccountRole, type AccountMeta, type Address, type Instruction } from '@solana/kit';
import { concat, u32, u64 } from './accounts.js';
import { PROGRAMS } from './addresses.js';

/** An instruction with all its fields. */
export interface FilledInstruction extends Instruction {
  readonly programAddress: Address;
  readonly accounts: readonly AccountMeta[];
  readonly data: Uint8Array;
}

export const readonly = (address: Address): AccountMeta => ({
  address,
  role: AccountRole.READONLY,
});
export const writable = (address: Address): AccountMeta => ({
  address,
  role: AccountRole.WRITABLE,
});
export const signer = (address: Address): AccountMeta => ({
  address,
  role: AccountRole.READONLY_SIGNER,
});
export const payer = (address: Address): AccountMeta => ({
  address,
  role: AccountRole.WRITABLE_SIGNER,
});

export function instruction(
  programAddress: Address,
  accounts: readonly AccountMeta[],
  data: ArrayLike<number> = [],
): FilledInstruction {
  return { programAddress, accounts, data: Uint8Array.from(data) };
}

export function fromHex(text: string): Uint8Array {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

export const computeBudget = (
  data: ArrayLike<number>,
  accounts: readonly AccountMeta[] = [],
): FilledInstruction => instruction(PROGRAMS.computeBudget, accounts, data);

/** Sets the limit of compute units. */
export const unitLimit = (units: number): FilledInstruction =>
  computeBudget(concat([2], u32(units)));
/** Sets the price in micro-lamports per compute unit. */
export const unitPrice = (price: bigint): FilledInstruction =>
  computeBudget(concat([3], u64(price)));

export const system = (
  operation: number,
  accounts: readonly AccountMeta[],
  data: ArrayLike<number> = [],
): FilledInstruction => instruction(PROGRAMS.system, accounts, concat(u32(operation), data));

export const transferSol = (from: Address, to: Address, lamports: bigint): FilledInstruction =>
  system(2, [payer(from), writable(to)], u64(lamports));

export const syncNative = (account: Address): FilledInstruction =>
  instruction(PROGRAMS.token, [writable(account)], [17]);

export const closeAccount = (
  account: Address,
  destination: Address,
  owner: Address,
  program: Address = PROGRAMS.token,
): FilledInstruction =>
  instruction(program, [writable(account), writable(destination), signer(owner)], [9]);

export interface Creation {
  readonly payer: Address;
  readonly account: Address;
  readonly owner: Address;
  readonly mint: Address;
  readonly tokenProgram: Address;
}

/** Makes an instruction of the associated token program; `data` is `[1]` for CreateIdempotent. */
export function createAccount(
  creation: Creation,
  data: readonly number[] = [1],
): FilledInstruction {
  const { account, owner, mint, tokenProgram } = creation;
  const metas = [
    payer(creation.payer),
    writable(account),
    readonly(owner),
    readonly(mint),
    readonly(PROGRAMS.system),
    readonly(tokenProgram),
  ];
  return instruction(PROGRAMS.associatedToken, metas, data);
}

/** Returns the instruction with these bytes at an offset of its data. */
export const written = (
  swap: FilledInstruction,
  offset: number,
  bytes: Uint8Array,
): FilledInstruction => {
  const data = swap.data.slice();
  data.set(bytes, offset);
  return { ...swap, data };
};

/** Returns the instruction with another account at an index. */
export const withAccount = (
  swap: FilledInstruction,
  index: number,
  meta: FilledInstruction['accounts'][number],
): FilledInstruction => ({
  ...swap,
  accounts: swap.accounts.map((account, at) => (at === index ? meta : account)),
});
