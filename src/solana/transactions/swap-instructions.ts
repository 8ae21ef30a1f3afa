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
import { u64, type GivingAccount, type OwnedAccount } from './instructions.js';

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

export function closeTokenAccount(input: GivingAccount): Instruction {
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

/** Updates the token balance of a wrapped SOL account to match its lamports. */
export function syncNative(input: { readonly account: Address }): Instruction {
  return instructionOf(() => createSyncNativeInstruction(key(input.account)));
}

export function revoke({ account, authority, tokenProgram }: OwnedAccount): Instruction {
  return instructionOf(() =>
    createRevokeInstruction(key(account), key(authority), [], key(tokenProgram)),
  );
}

/** Removes the close authority of a token account, so that only its owner can close it. */
export function dropCloseAuthority(input: OwnedAccount): Instruction {
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

/** Allocates zero bytes: fails unless the account does not exist or is a plain System account. */
export function allocateNothing(input: { readonly account: Address }): Instruction {
  return instructionOf(() =>
    SystemProgram.allocate({ accountPubkey: key(input.account), space: 0 }),
  );
}

/** Converts an instruction of the library to plain data. Tests check that it is the right one. */
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

/** Public keys by address: a swap repeats a few addresses, and converting them is slow. */
const made = new Map<Address, PublicKey>();
const addresses = new WeakMap<PublicKey, Address>();
const MAX_MADE = 1_000;

function key(address: Address): PublicKey {
  const known = made.get(address);
  if (known !== undefined) return known;
  const publicKey = new PublicKey(address);
  if (made.size >= MAX_MADE) made.clear();
  // Not `address` itself: it may be a slice, which would keep the whole text in memory.
  made.set(addressFor(publicKey), publicKey);
  return publicKey;
}

function addressFor(publicKey: PublicKey): Address {
  const known = addresses.get(publicKey);
  if (known !== undefined) return known;
  const address = publicKey.toBase58();
  addresses.set(publicKey, address);
  return address;
}

/**
 * Sets the global `Buffer`, which spl-token uses and browsers lack. Call it before each use:
 * bundlers drop a module that only sets a global.
 */
function ensureBuffer(): void {
  if (!('Buffer' in globalThis))
    Object.defineProperty(globalThis, 'Buffer', {
      value: Buffer,
      configurable: true,
      writable: true,
    });
}
