import { VersionedTransaction } from '@solana/web3.js';

export type { VersionedTransaction } from '@solana/web3.js';

/** Wire bytes as an object of web3.js, which older wallets take. */
export function toVersioned(wire: Uint8Array): VersionedTransaction {
  return VersionedTransaction.deserialize(wire);
}
