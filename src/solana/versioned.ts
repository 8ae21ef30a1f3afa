import { VersionedTransaction } from '@solana/web3.js';

export type { VersionedTransaction } from '@solana/web3.js';

/** Converts a serialized transaction to an object of web3.js, which older wallets need. */
export function toVersioned(wire: Uint8Array): VersionedTransaction {
  return VersionedTransaction.deserialize(wire);
}
