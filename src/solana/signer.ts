import type { Address } from './types.js';

/**
 * What a signer is asked to sign, in words: shown to people, checked by hardware, logged by
 * servers. Amounts are decimal strings of base units.
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
 * Signs messages of one wallet: a key here, in a cloud, or in a device. The bytes are a serialized
 * v0 message (with its version byte); the answer is the 64-byte Ed25519 signature of exactly those
 * bytes.
 */
export interface MessageSigner {
  readonly address: Address;
  signMessage(message: Uint8Array, intent: SigningIntent): Promise<Uint8Array>;
}

/**
 * Signs transactions of one wallet, as the wallets of people do. The bytes are those of a v0
 * transaction, the wallet's signature still missing in them; the answer is the signed transaction.
 * A wallet may add instructions that only check balances. Any other change is refused, and nothing
 * is sent.
 */
export interface TransactionSigner {
  readonly address: Address;
  signTransaction(transaction: Uint8Array, intent: SigningIntent): Promise<Uint8Array>;
}

/** Signs for one wallet. One that can sign both is asked for transactions. */
export type Signer = MessageSigner | TransactionSigner;

/** A transaction of `@solana/kit`, its bytes read-only. */
export interface KitTransaction {
  readonly messageBytes: ArrayLike<number>;
  readonly signatures: Readonly<Record<string, ArrayLike<number> | null>>;
}

/** What the signers of `@solana/kit` have in common, its `KeyPairSigner` among them. */
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

/** A `TransactionModifyingSigner` of `@solana/kit`: a wallet, mostly. */
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
