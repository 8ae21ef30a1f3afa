/**
 * Signers for wallets of `@solana/wallet-adapter`, which React applications use.
 *
 * @module exact-change/wallet-adapter
 */
import { refuse } from '../../src/internal/options.js';
import type { TransactionSigner } from '../../src/solana/signer.js';
import type { VersionedTransaction } from '../../src/solana/versioned.js';

export type { SigningIntent, TransactionSigner } from '../../src/solana/signer.js';

/** The common part of an adapter and of `useWallet()`. */
export interface AdaptedWallet {
  readonly publicKey: { toBase58(): string } | null;
  signTransaction?:
    ((transaction: VersionedTransaction) => Promise<VersionedTransaction>) | undefined;
  /** Only adapters have it. Null if the wallet takes only legacy transactions. */
  readonly supportedTransactionVersions?: ReadonlySet<unknown> | null | undefined;
}

/**
 * Returns a signer for a connected wallet. It signs for the currently connected account: make a new
 * signer if the person changes the account.
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
      // Call it as a method, because an adapter needs its `this`.
      const signed = await wallet.signTransaction?.(toVersioned(wire));
      return signed?.serialize() ?? new Uint8Array();
    },
  };
}
