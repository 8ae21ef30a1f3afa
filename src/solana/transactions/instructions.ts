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
import {
  ASSOCIATED_TOKEN_PROGRAM,
  COMPUTE_BUDGET_PROGRAM,
  MEMO_PROGRAM,
  SYSTEM_PROGRAM,
  TOKEN_PROGRAM,
} from '../../network.js';
import { isAddress } from '../address.js';
import { ensureBuffer } from '../buffer.js';
import type { AccountMeta, Address, Instruction } from '../types.js';

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
  const { source, mint, destination, authority, amount, decimals, tokenProgram } = input;
  const data = [12, ...u64(amount), u8(decimals)];
  return agreed(
    () =>
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
    {
      program: tokenProgram,
      accounts: [writable(source), readonly(mint), writable(destination), signer(authority)],
      data: bytes(data),
    },
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
  return agreed(
    () =>
      createAssociatedTokenAccountIdempotentInstruction(
        key(payer),
        key(account),
        key(owner),
        key(mint),
        key(tokenProgram),
      ),
    {
      program: ASSOCIATED_TOKEN_PROGRAM,
      accounts: [
        { address: payer, signer: true, writable: true },
        writable(account),
        readonly(owner),
        readonly(mint),
        readonly(SYSTEM_PROGRAM),
        readonly(tokenProgram),
      ],
      data: bytes([1]),
    },
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
  return agreed(
    () =>
      createCloseAccountInstruction(
        key(account),
        key(destination),
        key(authority),
        [],
        key(tokenProgram),
      ),
    {
      program: tokenProgram,
      accounts: [writable(account), writable(destination), signer(authority)],
      data: bytes([9]),
    },
  );
}

/** Makes the token balance of a wrapped SOL account follow its lamports. */
export function syncNative(input: { readonly account: Address }): Instruction {
  return agreed(() => createSyncNativeInstruction(key(input.account)), {
    program: TOKEN_PROGRAM,
    accounts: [writable(input.account)],
    data: bytes([17]),
  });
}

/** Takes back any delegation of a token account. */
export function revoke(input: {
  readonly account: Address;
  readonly authority: Address;
  readonly tokenProgram: Address;
}): Instruction {
  const { account, authority, tokenProgram } = input;
  return agreed(
    () => createRevokeInstruction(key(account), key(authority), [], key(tokenProgram)),
    {
      program: tokenProgram,
      accounts: [writable(account), signer(authority)],
      data: bytes([5]),
    },
  );
}

/** Leaves the owner alone able to close a token account. */
export function dropCloseAuthority(input: {
  readonly account: Address;
  readonly authority: Address;
  readonly tokenProgram: Address;
}): Instruction {
  const { account, authority, tokenProgram } = input;
  return agreed(
    () =>
      createSetAuthorityInstruction(
        key(account),
        key(authority),
        AuthorityType.CloseAccount,
        null,
        [],
        key(tokenProgram),
      ),
    {
      program: tokenProgram,
      accounts: [writable(account), signer(authority)],
      data: bytes([6, AuthorityType.CloseAccount, 0]),
    },
  );
}

/** Moves native SOL. */
export function transferLamports(input: {
  readonly from: Address;
  readonly to: Address;
  readonly lamports: bigint;
}): Instruction {
  const { from, to, lamports } = input;
  const data = [2, 0, 0, 0, ...u64(lamports)];
  return agreed(
    () => SystemProgram.transfer({ fromPubkey: key(from), toPubkey: key(to), lamports }),
    {
      program: SYSTEM_PROGRAM,
      accounts: [{ address: from, signer: true, writable: true }, writable(to)],
      data: bytes(data),
    },
  );
}

/** The most compute units that the transaction may use; its priority fee is counted on them. */
export function computeUnitLimit(units: number): Instruction {
  return agreed(() => ComputeBudgetProgram.setComputeUnitLimit({ units }), {
    program: COMPUTE_BUDGET_PROGRAM,
    accounts: [],
    data: bytes([2, ...u32(units)]),
  });
}

/** Priority fee, in micro-lamports for each compute unit of the limit. */
export function computeUnitPrice(microLamports: bigint): Instruction {
  const data = [3, ...u64(microLamports)];
  return agreed(() => ComputeBudgetProgram.setComputeUnitPrice({ microLamports }), {
    program: COMPUTE_BUDGET_PROGRAM,
    accounts: [],
    data: bytes(data),
  });
}

/** A note on the chain, signed for by no account in particular. */
export function memo(text: string): Instruction {
  return { program: MEMO_PROGRAM, accounts: [], data: new TextEncoder().encode(text) };
}

/**
 * What the library made, if it is byte for byte what we meant. spl-token encodes 2^64 as 0 and -1
 * as 2^64-1; two encoders that agree leave no room for that, nor for a changed release.
 */
function agreed(make: () => TransactionInstruction, meant: Instruction): Instruction {
  ensureBuffer();
  const made = make();
  const same =
    made.programId.toBase58() === meant.program &&
    Buffer.compare(made.data, meant.data) === 0 &&
    made.keys.length === meant.accounts.length &&
    made.keys.every(({ pubkey, isSigner, isWritable }, index) => {
      const meta = meant.accounts[index];
      return (
        meta !== undefined &&
        pubkey.toBase58() === meta.address &&
        isSigner === meta.signer &&
        isWritable === meta.writable
      );
    });
  if (!same) throw selfCheckFailed('the instruction encoder did not write what it was asked to');
  return meant;
}

function u64(value: bigint): Uint8Array {
  if (value < 0n || value > U64_MAX) throw selfCheckFailed('an amount is not within 0 and 2^64-1');
  const out = new Uint8Array(8);
  new DataView(out.buffer).setBigUint64(0, value, true);
  return out;
}

function u32(value: number): Uint8Array {
  if (!Number.isInteger(value) || value < 0 || value > 0xffff_ffff)
    throw selfCheckFailed('a count is not within 0 and 2^32-1');
  const out = new Uint8Array(4);
  new DataView(out.buffer).setUint32(0, value, true);
  return out;
}

function u8(value: number): number {
  if (!Number.isInteger(value) || value < 0 || value > 0xff)
    throw selfCheckFailed('decimals are not within 0 and 255');
  return value;
}

function selfCheckFailed(reason: string): TransactionError {
  return new TransactionError('self_check_failed', `Nothing was signed: ${reason}. Report this.`, {
    details: { reason },
  });
}

function key(address: Address): PublicKey {
  if (!isAddress(address)) throw new TypeError('Not a Solana address.');
  return new PublicKey(address);
}

const bytes = (values: readonly number[]) => Uint8Array.from(values);
const writable = (address: Address): AccountMeta => ({ address, signer: false, writable: true });
const readonly = (address: Address): AccountMeta => ({ address, signer: false, writable: false });
const signer = (address: Address): AccountMeta => ({ address, signer: true, writable: false });
