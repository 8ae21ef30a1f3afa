/**
 * Wallets by `@solana/wallet-adapter`, as applications with React have them.
 *
 * @module exact-change/wallet-adapter
 */
import { refuse } from '../../src/internal/options.js';
import type { TransactionSigner } from '../../src/solana/signer.js';
import type { VersionedTransaction } from '../../src/solana/versioned.js';

export type { SigningIntent, TransactionSigner } from '../../src/solana/signer.js';

/** What an adapter and `useWallet()` have in common. */
export interface AdaptedWallet {
  readonly publicKey: { toBase58(): string } | null;
  signTransaction?:
    ((transaction: VersionedTransaction) => Promise<VersionedTransaction>) | undefined;
  /** Of an adapter: null if it takes no transactions but the oldest. */
  readonly supportedTransactionVersions?: ReadonlySet<unknown> | null | undefined;
}

/**
 * A signer for a wallet that is connected. It signs for the account that is connected now: make
 * another if the person changes to another.
 *
 * Throws `ConfigError` (`invalid_option`) if the wallet is not connected, or cannot sign
 * transactions of version 0.
 *
 * @example
 * const client = createClient({ signer: walletAdapterSigner(useWallet()) });
 */
export function walletAdapterSigner(wallet: AdaptedWallet): TransactionSigner {
  const { publicKey, supportedTransactionVersions: versions } = wallet;
  if (publicKey === null) throw refuse('wallet', 'is not connected. Connect it first.');
  if (wallet.signTransaction === undefined || versions === null || versions?.has(0) === false)
    throw refuse('wallet', 'cannot sign transactions of version 0. Use another wallet.');
  return {
    address: publicKey.toBase58(),
    async signTransaction(wire) {
      const { toVersioned } = await import('../../src/solana/versioned.js');
      // As a method: an adapter keeps its state in itself.
      const signed = await wallet.signTransaction?.(toVersioned(wire));
      return signed?.serialize() ?? new Uint8Array();
    },
  };
}
