import {
  AuthorityType,
  createAssociatedTokenAccountIdempotentInstruction,
  createCloseAccountInstruction,
  createRevokeInstruction,
  createSetAuthorityInstruction,
  createSyncNativeInstruction,
} from '@solana/spl-token';
import { PublicKey, SystemProgram } from '@solana/web3.js';
import type { TransactionInstruction } from '@solana/web3.js';
import { Buffer } from 'buffer';
import type { Address, Instruction } from '../types.js';
import { u64 } from './instructions.js';

/** Creates the associated token account unless it exists. */
export function createAssociatedTokenAccount(input: {
  readonly payer: Address;
  readonly account: Address;
  readonly owner: Address;
  readonly mint: Address;
  readonly tokenProgram: Address;
}): Instruction {
  const { payer, account, owner, mint, tokenProgram } = input;
  return instructionOf(() =>
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
  return instructionOf(() =>
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
  return instructionOf(() => createSyncNativeInstruction(key(input.account)));
}

/** Takes back any delegation of a token account. */
export function revoke(input: {
  readonly account: Address;
  readonly authority: Address;
  readonly tokenProgram: Address;
}): Instruction {
  const { account, authority, tokenProgram } = input;
  return instructionOf(() =>
    createRevokeInstruction(key(account), key(authority), [], key(tokenProgram)),
  );
}

/** Leaves the owner alone able to close a token account. */
export function dropCloseAuthority(input: {
  readonly account: Address;
  readonly authority: Address;
  readonly tokenProgram: Address;
}): Instruction {
  const { account, authority, tokenProgram } = input;
  return instructionOf(() =>
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
  return instructionOf(() =>
    SystemProgram.transfer({ fromPubkey: key(from), toPubkey: key(to), lamports }),
  );
}

/** Allocates no bytes on an account: fails unless it is a plain one of the System program, or none. */
export function allocateNothing(input: { readonly account: Address }): Instruction {
  return instructionOf(() =>
    SystemProgram.allocate({ accountPubkey: key(input.account), space: 0 }),
  );
}

/** What the library made, in plain data. Whether it is what was meant is for tests to say. */
function instructionOf(make: () => TransactionInstruction): Instruction {
  ensureBuffer();
  const { programId, keys, data } = make();
  return {
    program: addressFor(programId),
    accounts: keys.map(({ pubkey, isSigner, isWritable }) => ({
      address: addressFor(pubkey),
      signer: isSigner,
      writable: isWritable,
    })),
    data: Uint8Array.from(data),
  };
}

/**
 * The same few addresses are named over and over in one swap, and the library is slow to read and
 * to write them.
 */
const made = new Map<Address, PublicKey>();
const addresses = new WeakMap<PublicKey, Address>();
const MAX_MADE = 1_000;

function key(address: Address): PublicKey {
  const known = made.get(address);
  if (known !== undefined) return known;
  const one = new PublicKey(address);
  if (made.size >= MAX_MADE) made.clear();
  // Not what was given: it may be a slice, and would keep all of the text that it was cut from.
  made.set(addressFor(one), one);
  return one;
}

function addressFor(one: PublicKey): Address {
  const known = addresses.get(one);
  if (known !== undefined) return known;
  const address = one.toBase58();
  addresses.set(one, address);
  return address;
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
