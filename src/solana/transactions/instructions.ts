import {
  AuthorityType,
  createAssociatedTokenAccountIdempotentInstruction,
  createCloseAccountInstruction,
  createRevokeInstruction,
  createSetAuthorityInstruction,
  createSyncNativeInstruction,
  createTransferCheckedInstruction,
} from '@solana/spl-token';
import { ComputeBudgetProgram, PublicKey, SystemProgram } from '@solana/web3.js';
import type { TransactionInstruction } from '@solana/web3.js';
import { Buffer } from 'buffer';
import { U64_MAX } from '../../amount.js';
import { TransactionError } from '../../errors.js';
import { MEMO_PROGRAM } from '../../network.js';
import type { Address, Instruction } from '../types.js';

/** Transfers tokens; the chain refuses it unless the mint has these decimals. */
export function transferChecked(input: {
  readonly source: Address;
  readonly mint: Address;
  readonly destination: Address;
  readonly authority: Address;
  readonly amount: bigint;
  readonly decimals: number;
  readonly tokenProgram: Address;
}): Instruction {
  const { source, mint, destination, authority, decimals, tokenProgram } = input;
  const amount = u64(input.amount);
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 0xff)
    throw selfCheckFailed('decimals are not within 0 and 255');
  return made(() =>
    createTransferCheckedInstruction(
      key(source),
      key(mint),
      key(destination),
      key(authority),
      amount,
      decimals,
      [],
      key(tokenProgram),
    ),
  );
}

/** Creates the associated token account unless it exists. */
export function createAssociatedTokenAccount(input: {
  readonly payer: Address;
  readonly account: Address;
  readonly owner: Address;
  readonly mint: Address;
  readonly tokenProgram: Address;
}): Instruction {
  const { payer, account, owner, mint, tokenProgram } = input;
  return made(() =>
    createAssociatedTokenAccountIdempotentInstruction(
      key(payer),
      key(account),
      key(owner),
      key(mint),
      key(tokenProgram),
    ),
  );
}

/** Closes a token account and sends its lamports to `destination`. */
export function closeTokenAccount(input: {
  readonly account: Address;
  readonly destination: Address;
  readonly authority: Address;
  readonly tokenProgram: Address;
}): Instruction {
  const { account, destination, authority, tokenProgram } = input;
  return made(() =>
    createCloseAccountInstruction(
      key(account),
      key(destination),
      key(authority),
      [],
      key(tokenProgram),
    ),
  );
}

/** Makes the token balance of a wrapped SOL account follow its lamports. */
export function syncNative(input: { readonly account: Address }): Instruction {
  return made(() => createSyncNativeInstruction(key(input.account)));
}

/** Takes back any delegation of a token account. */
export function revoke(input: {
  readonly account: Address;
  readonly authority: Address;
  readonly tokenProgram: Address;
}): Instruction {
  const { account, authority, tokenProgram } = input;
  return made(() => createRevokeInstruction(key(account), key(authority), [], key(tokenProgram)));
}

/** Leaves the owner alone able to close a token account. */
export function dropCloseAuthority(input: {
  readonly account: Address;
  readonly authority: Address;
  readonly tokenProgram: Address;
}): Instruction {
  const { account, authority, tokenProgram } = input;
  return made(() =>
    createSetAuthorityInstruction(
      key(account),
      key(authority),
      AuthorityType.CloseAccount,
      null,
      [],
      key(tokenProgram),
    ),
  );
}

/** Moves native SOL. */
export function transferLamports(input: {
  readonly from: Address;
  readonly to: Address;
  readonly lamports: bigint;
}): Instruction {
  const { from, to } = input;
  const lamports = u64(input.lamports);
  return made(() => SystemProgram.transfer({ fromPubkey: key(from), toPubkey: key(to), lamports }));
}

/** The most compute units that the transaction may use; its priority fee is counted on them. */
export function computeUnitLimit(units: number): Instruction {
  if (!Number.isInteger(units) || units < 0 || units > 0xffff_ffff)
    throw selfCheckFailed('a count is not within 0 and 2^32-1');
  return made(() => ComputeBudgetProgram.setComputeUnitLimit({ units }));
}

/** Priority fee, in micro-lamports for each compute unit of the limit. */
export function computeUnitPrice(microLamports: bigint): Instruction {
  const price = u64(microLamports);
  return made(() => ComputeBudgetProgram.setComputeUnitPrice({ microLamports: price }));
}

/** A note on the chain, signed for by no account in particular. */
export function memo(text: string): Instruction {
  return { program: MEMO_PROGRAM, accounts: [], data: new TextEncoder().encode(text) };
}

/** What the library made, in plain data. Whether it is what was meant is for tests to say. */
function made(make: () => TransactionInstruction): Instruction {
  ensureBuffer();
  const { programId, keys, data } = make();
  return {
    program: programId.toBase58(),
    accounts: keys.map(({ pubkey, isSigner, isWritable }) => ({
      address: pubkey.toBase58(),
      signer: isSigner,
      writable: isWritable,
    })),
    data: Uint8Array.from(data),
  };
}

/** spl-token writes 2^64 as 0 and -1 as 2^64-1. */
function u64(value: bigint): bigint {
  if (value < 0n || value > U64_MAX) throw selfCheckFailed('an amount is not within 0 and 2^64-1');
  return value;
}

function selfCheckFailed(reason: string): TransactionError {
  return new TransactionError('self_check_failed', `Nothing was signed: ${reason}. Report this.`, {
    details: { reason },
  });
}

function key(address: Address): PublicKey {
  return new PublicKey(address);
}

/**
 * spl-token uses the global `Buffer`, which browsers lack. To be called before each use of it: a
 * module that only has the side effect of setting a global gets dropped by bundlers.
 */
function ensureBuffer(): void {
  if (!('Buffer' in globalThis))
    Object.defineProperty(globalThis, 'Buffer', {
      value: Buffer,
      configurable: true,
      writable: true,
    });
}
