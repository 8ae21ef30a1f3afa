import type { Address } from './types.js';

/**
 * A description of what a signer is asked to sign, for people, hardware wallets and server logs.
 * Amounts are decimal strings of base units.
 */
export type SigningIntent =
  | {
      readonly kind: 'payment';
      readonly network: string;
      readonly mint: string;
      readonly amount: string;
      readonly payTo: string;
      readonly url: string;
    }
  | {
      readonly kind: 'swap';
      readonly network: string;
      readonly inputMint: string;
      readonly maxInAmount: string;
      readonly outputMint: string;
      readonly minOutAmount: string;
    };

/**
 * Signs messages for one wallet, with a local key, a cloud service or a device. The message is a
 * serialized v0 message with its version byte. The answer is the 64-byte Ed25519 signature of
 * exactly these bytes.
 */
export interface MessageSigner {
  readonly address: Address;
  signMessage(message: Uint8Array, intent: SigningIntent): Promise<Uint8Array>;
}

/**
 * Signs transactions for one wallet, as wallet apps do. The input is a serialized v0 transaction
 * without the wallet's signature; the answer is the signed transaction. The wallet may add
 * instructions that only check balances. Any other change is refused, and nothing is sent.
 */
export interface TransactionSigner {
  readonly address: Address;
  signTransaction(transaction: Uint8Array, intent: SigningIntent): Promise<Uint8Array>;
}

/** Signs for one wallet. A signer with both methods is asked to sign transactions. */
export type Signer = MessageSigner | TransactionSigner;

/** A transaction of `@solana/kit` with read-only bytes. */
export interface KitTransaction {
  readonly messageBytes: ArrayLike<number>;
  readonly signatures: Readonly<Record<string, ArrayLike<number> | null>>;
}

/** The interface that message signers of `@solana/kit` share, such as its `KeyPairSigner`. */
export interface KitMessageSigner {
  readonly address: string;
  signMessages(
    messages: readonly {
      readonly content: Uint8Array;
      readonly signatures: Readonly<Record<string, never>>;
    }[],
  ): Promise<readonly Readonly<Record<string, Uint8Array>>[]>;
}

/** A `TransactionPartialSigner` of `@solana/kit`. */
export interface KitTransactionSigner {
  readonly address: string;
  signTransactions(
    transactions: readonly KitTransaction[],
  ): Promise<readonly Readonly<Record<string, Uint8Array>>[]>;
}

/** A `TransactionModifyingSigner` of `@solana/kit`, mostly a wallet app. */
export interface KitModifyingSigner {
  readonly address: string;
  modifyAndSignTransactions(
    transactions: readonly KitTransaction[],
  ): Promise<readonly KitTransaction[]>;
}

export type KitSigner = KitMessageSigner | KitTransactionSigner | KitModifyingSigner;

/** A `Keypair` of `@solana/web3.js`. */
export interface KeypairObject {
  readonly publicKey: { toBase58(): string };
  readonly secretKey: Uint8Array;
}
